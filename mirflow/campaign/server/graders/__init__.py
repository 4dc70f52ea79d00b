"""Pages of graders and of who organises them."""
