// Uploads a submission with a progress bar; without this script the browser sends the form.

const form = document.getElementById("upload");
const [trouble, sent, said] = ["trouble", "sent", "said"].map((id) => document.getElementById(id));
const button = form.querySelector("button");

function complain(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
  if (text) trouble.scrollIntoView({ block: "nearest" });
}

function setBusy(busy) {
  button.disabled = busy;
  sent.hidden = !busy;
  if (!busy) said.textContent = "";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const files = [...form.querySelectorAll('input[type="file"]')].flatMap((input) => [...input.files]);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  // What the server would refuse after the upload.
  const text = !files.length ? "Choose files, or a folder." :
    files.length > Number(form.dataset.files) ? `These are ${files.length} files; ${form.dataset.files} are the most.` :
      size > Number(form.dataset.most) ? `These are ${(size / 1e6).toFixed(1)} MB; ${(form.dataset.most / 1e6).toFixed(1)} MB are the most.` : "";
  complain(text);
  if (text) return;
  const data = new FormData();
  for (const [name, value] of new FormData(form)) {
    if (!(value instanceof File)) data.append(name, value);
    else if (value.name) data.append(name, value, value.webkitRelativePath || value.name);
  }
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.responseType = "json";
  request.setRequestHeader("Accept", "application/json");
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    sent.value = total ? loaded / total : 0;
    said.textContent = loaded < total ? `${Math.round((100 * loaded) / total)} % sent` : "Sent; the server takes it in.";
  });
  request.addEventListener("load", () => {
    const answer = request.response ?? {};
    if (request.status === 201) return location.assign(answer.address);
    setBusy(false);
    complain(answer.error || `The server answers ${request.status}. Try again.`);
  });
  request.addEventListener("error", () => {
    setBusy(false);
    complain("The connection broke before the server had taken everything. Nothing was submitted; try again.");
  });
  setBusy(true);
  request.send(data);
});
