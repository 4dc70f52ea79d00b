BEGIN TRANSACTION;
CREATE TABLE finding (
	id INTEGER NOT NULL, 
	submission_id INTEGER NOT NULL, 
	path TEXT NOT NULL, 
	line INTEGER, 
	severity TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	message TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(submission_id) REFERENCES submission (number)
);
INSERT INTO "finding" VALUES(1,2,'',NULL,'warning','missing','1 of 2 tracks of dev (chord) have no estimate: dev1; they count as zero');
INSERT INTO "finding" VALUES(2,2,'dev0.lab',1,'error','unreadable','start is not a number: ''x''');
CREATE TABLE grading_assignment (
	id INTEGER NOT NULL, 
	participation_id INTEGER NOT NULL, 
	pair_id INTEGER NOT NULL, 
	repeat BOOLEAN NOT NULL, 
	page INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	made DATETIME NOT NULL, 
	broad TEXT, 
	fine DOUBLE, 
	unplayable BOOLEAN NOT NULL, 
	known BOOLEAN NOT NULL, 
	heard DOUBLE, 
	saved DATETIME, 
	PRIMARY KEY (id), 
	UNIQUE (participation_id, pair_id, repeat), 
	FOREIGN KEY(participation_id) REFERENCES grading_participation (id), 
	FOREIGN KEY(pair_id) REFERENCES grading_pair (id)
);
INSERT INTO "grading_assignment" VALUES(1,1,1,0,1,0,'2027-01-01 00:00:00.000000','SS',4.5,0,0,NULL,'2027-01-01 00:00:00.000000');
CREATE TABLE grading_consent_text (
	id INTEGER NOT NULL, 
	round_id INTEGER NOT NULL, 
	version TEXT NOT NULL, 
	text TEXT NOT NULL, 
	since DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (round_id, version), 
	FOREIGN KEY(round_id) REFERENCES grading_round (id)
);
INSERT INTO "grading_consent_text" VALUES(1,1,'1','I agree.','2027-01-01 00:00:00.000000');
CREATE TABLE grading_event (
	id INTEGER NOT NULL, 
	participation_id INTEGER NOT NULL, 
	assignment_id INTEGER, 
	page INTEGER, 
	client TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	received DATETIME NOT NULL, 
	position DOUBLE, 
	PRIMARY KEY (id), 
	UNIQUE (participation_id, client, number), 
	FOREIGN KEY(participation_id) REFERENCES grading_participation (id), 
	FOREIGN KEY(assignment_id) REFERENCES grading_assignment (id)
);
INSERT INTO "grading_event" VALUES(1,1,1,1,'window',1,'played','2027-01-01 00:00:00.000000',0.5);
CREATE TABLE grading_judgement (
	id INTEGER NOT NULL, 
	assignment_id INTEGER NOT NULL, 
	client TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	received DATETIME NOT NULL, 
	"values" JSON NOT NULL, 
	heard DOUBLE, 
	PRIMARY KEY (id), 
	UNIQUE (assignment_id, client, number), 
	FOREIGN KEY(assignment_id) REFERENCES grading_assignment (id)
);
INSERT INTO "grading_judgement" VALUES(1,1,'window',1,'2027-01-01 00:00:00.000000','{"broad": "SS", "fine": 4.5}',NULL);
CREATE TABLE grading_loudness (
	path TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	modified INTEGER NOT NULL, 
	lufs DOUBLE, 
	PRIMARY KEY (path)
);
INSERT INTO "grading_loudness" VALUES('p1.wav',1000,1152921504606846976,-23.0);
CREATE TABLE grading_pair (
	id INTEGER NOT NULL, 
	round_id INTEGER NOT NULL, 
	"query" TEXT NOT NULL, 
	candidate TEXT NOT NULL, 
	query_piece TEXT NOT NULL, 
	piece TEXT NOT NULL, 
	training BOOLEAN NOT NULL, 
	anchor_broad TEXT, 
	anchor_fine DOUBLE, 
	PRIMARY KEY (id), 
	UNIQUE (round_id, "query", candidate), 
	FOREIGN KEY(round_id) REFERENCES grading_round (id)
);
INSERT INTO "grading_pair" VALUES(1,1,'q1','c1','q1','p1',0,NULL,NULL);
CREATE TABLE grading_participation (
	id INTEGER NOT NULL, 
	round_id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	seed INTEGER NOT NULL, 
	code INTEGER NOT NULL, 
	consent TEXT NOT NULL, 
	consented DATETIME NOT NULL, 
	withdrawn DATETIME, 
	PRIMARY KEY (id), 
	UNIQUE (round_id, user_id), 
	FOREIGN KEY(round_id) REFERENCES grading_round (id), 
	FOREIGN KEY(user_id) REFERENCES user (id)
);
INSERT INTO "grading_participation" VALUES(1,1,3,4611686018427387904,4611686018427387904,'1','2027-01-01 00:00:00.000000',NULL);
CREATE TABLE grading_round (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	opened DATETIME NOT NULL, 
	closed DATETIME, 
	deleted INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "grading_round" VALUES(1,'similarity','2027-01-01 00:00:00.000000',NULL,0);
CREATE TABLE progress (
	submission_id INTEGER NOT NULL, 
	stage TEXT NOT NULL, 
	done INTEGER NOT NULL, 
	total INTEGER NOT NULL, 
	updated DATETIME NOT NULL, 
	PRIMARY KEY (submission_id), 
	FOREIGN KEY(submission_id) REFERENCES submission (number)
);
INSERT INTO "progress" VALUES(4,'checking',1,4,'2027-01-01 00:00:00.000000');
CREATE TABLE public_copy (
	split TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	date DATETIME NOT NULL, 
	PRIMARY KEY (split)
);
INSERT INTO "public_copy" VALUES('dev','d85b09fcc0d3b71d7ab015457dbc9c748896e266ec74e0b7d44abdbf50658216','2027-01-01 00:00:00.000000');
INSERT INTO "public_copy" VALUES('other','x','2027-01-01 00:00:00.000000');
CREATE TABLE released (
	id INTEGER NOT NULL, 
	submission_id INTEGER NOT NULL, 
	split TEXT NOT NULL, 
	evaluation TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	rules TEXT NOT NULL, 
	value DOUBLE, 
	low DOUBLE, 
	high DOUBLE, 
	tracks INTEGER NOT NULL, 
	lower_is_better BOOLEAN NOT NULL, 
	headline BOOLEAN NOT NULL, 
	improved BOOLEAN NOT NULL, 
	date DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (submission_id, split, evaluation, metric), 
	FOREIGN KEY(submission_id) REFERENCES submission (number)
);
INSERT INTO "released" VALUES(1,1,'dev','chord','majmin','2027-01',8.3333333333333337034e-01,NULL,NULL,2,0,1,1,'2027-01-01 00:00:00.000000');
INSERT INTO "released" VALUES(2,1,'dev','chord','root','2027-01',1.0,NULL,NULL,2,0,0,1,'2027-01-01 00:00:00.000000');
INSERT INTO "released" VALUES(3,3,'dev','chord','majmin','2027-01',1.0,NULL,NULL,2,0,1,1,'2027-01-01 00:00:00.000000');
INSERT INTO "released" VALUES(4,3,'dev','chord','root','2027-01',1.0,NULL,NULL,2,0,0,1,'2027-01-01 00:00:00.000000');
CREATE TABLE rules (
	version TEXT NOT NULL, 
	evaluations TEXT NOT NULL, 
	date DATETIME NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "rules" VALUES('2027-01','[{"estimates": "{track}.lab", "metrics": ["majmin", "root"], "reference": "reference/{track}.lab", "task": "chord", "tracks": "tracks.csv"}]','2027-01-01 00:00:00.000000');
CREATE TABLE scored (
	submission_id INTEGER NOT NULL, 
	split TEXT NOT NULL, 
	rules TEXT NOT NULL, 
	date DATETIME NOT NULL, 
	PRIMARY KEY (submission_id, split, rules), 
	FOREIGN KEY(submission_id) REFERENCES submission (number)
);
INSERT INTO "scored" VALUES(1,'dev','2027-01','2027-01-01 00:00:00.000000');
INSERT INTO "scored" VALUES(3,'dev','2027-01','2027-01-01 00:00:00.000000');
CREATE TABLE submission (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	user_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	splits TEXT NOT NULL, 
	visibility TEXT NOT NULL, 
	received DATETIME NOT NULL, 
	sent_digest TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	rules TEXT NOT NULL, 
	mirflow TEXT NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	files INTEGER NOT NULL, 
	errors INTEGER NOT NULL, 
	warnings INTEGER NOT NULL, 
	notes INTEGER NOT NULL, 
	finished DATETIME, 
	withdrawn DATETIME, 
	worker TEXT NOT NULL, 
	lease DATETIME, 
	tries INTEGER NOT NULL, 
	UNIQUE (id), 
	FOREIGN KEY(user_id) REFERENCES user (id)
);
INSERT INTO "submission" VALUES(1,'2216bd7fec0150c9',1,'oak','oak','dev','public','2027-01-01 00:00:00.000000','cc91e1eb172d006fd6fde55122bc9c809b17339e9db118d8c9c76564bf933912',504,'2027-01','0.1.0','scored','','5e9accb31877c2cdc7ca1618d79257ab23c0f345814e2f368ac779d6cec115e1',4,0,0,0,'2027-01-01 00:00:00.000000',NULL,'',NULL,0);
INSERT INTO "submission" VALUES(2,'bedbaba6df7d3863',2,'elm','elm','dev','public','2027-01-01 00:00:00.000000','3cd5b1f376071be241ed9603374c39e0d04589227d826f779d5880cb584e1e31',117,'2027-01','0.1.0','refused','1 error: mend the files and send them again; the name is free, and the quota is as it was','25d925c176724117dfbc0d3fc030c33b683075414b2cfbefcea728181ca1e0c0',1,1,1,0,'2027-01-01 00:00:00.000000',NULL,'',NULL,0);
INSERT INTO "submission" VALUES(3,'aa1b0a2f9d7ee539',2,'ash','ash','dev','lab','2027-01-01 00:00:00.000000','90ef15d9afec2be120323c177cd8ea64231ec3a9ece04d8751beb2323e7eb986',506,'2027-01','0.1.0','scored','','1275a6fe7c2ff6d30b93e8b6acb9689e8e2037d1db9c79f800b7c52a61557358',4,0,0,0,'2027-01-01 00:00:00.000000',NULL,'',NULL,0);
INSERT INTO "submission" VALUES(4,'7e96aef25c232d19',2,'fir','fir','dev','private','2027-01-01 00:00:00.000000','a081c9014246acd6ef9a803250299754c30313acb1bfce932a40cd544c15a0f0',506,'2027-01','0.1.0','received','','',0,0,0,0,NULL,NULL,'',NULL,0);
CREATE TABLE token (
	id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	expires DATETIME, 
	revoked DATETIME, 
	used DATETIME, 
	PRIMARY KEY (id), 
	FOREIGN KEY(user_id) REFERENCES user (id), 
	UNIQUE (digest)
);
INSERT INTO "token" VALUES(1,1,'link','663bea6b49606ef8b12acb88c739e61102ba1ee55da029f288319db2fc8e6efb','2027-01-01 00:00:00.000000','2028-01-01 00:00:00.000000',NULL,NULL);
INSERT INTO "token" VALUES(2,1,'token','4b6bf859bff2b3241d8242dcf245828937f3822e811f801d6ad8d4e2c6f58b3a','2027-01-01 00:00:00.000000',NULL,NULL,NULL);
CREATE TABLE trouble (
	id INTEGER NOT NULL, 
	message TEXT NOT NULL, 
	since DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "trouble" VALUES(1,'the disk is full','2027-01-01 00:00:00.000000');
CREATE TABLE user (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	lab TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	revoked DATETIME, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "user" VALUES(1,'ada','submitter','','2027-01-01 00:00:00.000000',NULL);
INSERT INTO "user" VALUES(2,'bob','submitter','','2027-01-01 00:00:00.000000',NULL);
INSERT INTO "user" VALUES(3,'gil','grader','Valley','2027-01-01 00:00:00.000000',NULL);
CREATE TABLE verdict (
	id INTEGER NOT NULL, 
	submission_id INTEGER NOT NULL, 
	other_id INTEGER NOT NULL, 
	relation TEXT NOT NULL, 
	split TEXT NOT NULL, 
	evaluation TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	difference DOUBLE, 
	low DOUBLE, 
	high DOUBLE, 
	p DOUBLE, 
	tracks INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (submission_id, split, evaluation, metric, relation), 
	FOREIGN KEY(submission_id) REFERENCES submission (number), 
	FOREIGN KEY(other_id) REFERENCES submission (number)
);
INSERT INTO "verdict" VALUES(1,3,1,'leader','dev','chord','majmin','not told apart',1.66666666666666629659e-01,NULL,NULL,1.0,2);
CREATE TABLE version (
	number INTEGER NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "version" VALUES(1);
CREATE INDEX ix_token_user_id ON token (user_id);
CREATE UNIQUE INDEX submission_key ON submission ("key") WHERE state NOT IN ('refused', 'failed');
CREATE INDEX ix_submission_user_id ON submission (user_id);
CREATE INDEX submission_state ON submission (state, number);
CREATE INDEX ix_grading_pair_round_id ON grading_pair (round_id);
CREATE INDEX ix_grading_participation_round_id ON grading_participation (round_id);
CREATE INDEX ix_finding_submission_id ON finding (submission_id);
CREATE INDEX ix_released_submission_id ON released (submission_id);
CREATE INDEX ix_verdict_submission_id ON verdict (submission_id);
CREATE INDEX ix_grading_assignment_pair_id ON grading_assignment (pair_id);
CREATE INDEX ix_grading_assignment_participation_id ON grading_assignment (participation_id);
CREATE INDEX ix_grading_judgement_assignment_id ON grading_judgement (assignment_id);
CREATE INDEX ix_grading_event_participation_id ON grading_event (participation_id);
CREATE INDEX ix_grading_event_assignment_id ON grading_event (assignment_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('submission',4);
COMMIT;
