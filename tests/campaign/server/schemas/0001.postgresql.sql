SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.finding (
    id bigint NOT NULL,
    submission_id bigint NOT NULL,
    path text NOT NULL,
    line bigint,
    severity text NOT NULL,
    rule text NOT NULL,
    message text NOT NULL
);
CREATE SEQUENCE public.finding_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.finding_id_seq OWNED BY public.finding.id;
CREATE TABLE public.grading_assignment (
    id bigint NOT NULL,
    participation_id bigint NOT NULL,
    pair_id bigint NOT NULL,
    repeat boolean NOT NULL,
    page bigint NOT NULL,
    place bigint NOT NULL,
    made timestamp without time zone NOT NULL,
    broad text,
    fine double precision,
    unplayable boolean NOT NULL,
    known boolean NOT NULL,
    heard double precision,
    saved timestamp without time zone
);
CREATE SEQUENCE public.grading_assignment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.grading_assignment_id_seq OWNED BY public.grading_assignment.id;
CREATE TABLE public.grading_consent_text (
    id bigint NOT NULL,
    round_id bigint NOT NULL,
    version text NOT NULL,
    text text NOT NULL,
    since timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.grading_consent_text_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.grading_consent_text_id_seq OWNED BY public.grading_consent_text.id;
CREATE TABLE public.grading_event (
    id bigint NOT NULL,
    participation_id bigint NOT NULL,
    assignment_id bigint,
    page bigint,
    client text NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL,
    received timestamp without time zone NOT NULL,
    "position" double precision
);
CREATE SEQUENCE public.grading_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.grading_event_id_seq OWNED BY public.grading_event.id;
CREATE TABLE public.grading_judgement (
    id bigint NOT NULL,
    assignment_id bigint NOT NULL,
    client text NOT NULL,
    number bigint NOT NULL,
    received timestamp without time zone NOT NULL,
    "values" json NOT NULL,
    heard double precision
);
CREATE SEQUENCE public.grading_judgement_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.grading_judgement_id_seq OWNED BY public.grading_judgement.id;
CREATE TABLE public.grading_loudness (
    path text NOT NULL,
    size bigint NOT NULL,
    modified bigint NOT NULL,
    lufs double precision
);
CREATE TABLE public.grading_pair (
    id bigint NOT NULL,
    round_id bigint NOT NULL,
    query text NOT NULL,
    candidate text NOT NULL,
    query_piece text NOT NULL,
    piece text NOT NULL,
    training boolean NOT NULL,
    anchor_broad text,
    anchor_fine double precision
);
CREATE SEQUENCE public.grading_pair_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.grading_pair_id_seq OWNED BY public.grading_pair.id;
CREATE TABLE public.grading_participation (
    id bigint NOT NULL,
    round_id bigint NOT NULL,
    user_id bigint NOT NULL,
    seed bigint NOT NULL,
    code bigint NOT NULL,
    consent text NOT NULL,
    consented timestamp without time zone NOT NULL,
    withdrawn timestamp without time zone
);
CREATE SEQUENCE public.grading_participation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.grading_participation_id_seq OWNED BY public.grading_participation.id;
CREATE TABLE public.grading_round (
    id bigint NOT NULL,
    name text NOT NULL,
    opened timestamp without time zone NOT NULL,
    closed timestamp without time zone,
    deleted bigint NOT NULL
);
CREATE SEQUENCE public.grading_round_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.grading_round_id_seq OWNED BY public.grading_round.id;
CREATE TABLE public.progress (
    submission_id bigint NOT NULL,
    stage text NOT NULL,
    done bigint NOT NULL,
    total bigint NOT NULL,
    updated timestamp without time zone NOT NULL
);
CREATE TABLE public.public_copy (
    split text NOT NULL,
    digest text NOT NULL,
    date timestamp without time zone NOT NULL
);
CREATE TABLE public.released (
    id bigint NOT NULL,
    submission_id bigint NOT NULL,
    split text NOT NULL,
    evaluation text NOT NULL,
    metric text NOT NULL,
    rules text NOT NULL,
    value double precision,
    low double precision,
    high double precision,
    tracks bigint NOT NULL,
    lower_is_better boolean NOT NULL,
    headline boolean NOT NULL,
    improved boolean NOT NULL,
    date timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.released_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.released_id_seq OWNED BY public.released.id;
CREATE TABLE public.rules (
    version text NOT NULL,
    evaluations text NOT NULL,
    date timestamp without time zone NOT NULL
);
CREATE TABLE public.scored (
    submission_id bigint NOT NULL,
    split text NOT NULL,
    rules text NOT NULL,
    date timestamp without time zone NOT NULL
);
CREATE TABLE public.submission (
    number bigint NOT NULL,
    id text NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    key text NOT NULL,
    splits text NOT NULL,
    visibility text NOT NULL,
    received timestamp without time zone NOT NULL,
    sent_digest text NOT NULL,
    size bigint NOT NULL,
    rules text NOT NULL,
    mirflow text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    digest text NOT NULL,
    files bigint NOT NULL,
    errors bigint NOT NULL,
    warnings bigint NOT NULL,
    notes bigint NOT NULL,
    finished timestamp without time zone,
    withdrawn timestamp without time zone,
    worker text NOT NULL,
    lease timestamp without time zone,
    tries bigint NOT NULL
);
CREATE SEQUENCE public.submission_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.submission_number_seq OWNED BY public.submission.number;
CREATE TABLE public.token (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    kind text NOT NULL,
    digest text NOT NULL,
    created timestamp without time zone NOT NULL,
    expires timestamp without time zone,
    revoked timestamp without time zone,
    used timestamp without time zone
);
CREATE SEQUENCE public.token_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.token_id_seq OWNED BY public.token.id;
CREATE TABLE public.trouble (
    id bigint NOT NULL,
    message text NOT NULL,
    since timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.trouble_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.trouble_id_seq OWNED BY public.trouble.id;
CREATE TABLE public."user" (
    id bigint NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    lab text NOT NULL,
    created timestamp without time zone NOT NULL,
    revoked timestamp without time zone
);
CREATE SEQUENCE public.user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.user_id_seq OWNED BY public."user".id;
CREATE TABLE public.verdict (
    id bigint NOT NULL,
    submission_id bigint NOT NULL,
    other_id bigint NOT NULL,
    relation text NOT NULL,
    split text NOT NULL,
    evaluation text NOT NULL,
    metric text NOT NULL,
    outcome text NOT NULL,
    difference double precision,
    low double precision,
    high double precision,
    p double precision,
    tracks bigint NOT NULL
);
CREATE SEQUENCE public.verdict_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.verdict_id_seq OWNED BY public.verdict.id;
CREATE TABLE public.version (
    number bigint NOT NULL
);
CREATE SEQUENCE public.version_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.version_number_seq OWNED BY public.version.number;
ALTER TABLE ONLY public.finding ALTER COLUMN id SET DEFAULT nextval('public.finding_id_seq'::regclass);
ALTER TABLE ONLY public.grading_assignment ALTER COLUMN id SET DEFAULT nextval('public.grading_assignment_id_seq'::regclass);
ALTER TABLE ONLY public.grading_consent_text ALTER COLUMN id SET DEFAULT nextval('public.grading_consent_text_id_seq'::regclass);
ALTER TABLE ONLY public.grading_event ALTER COLUMN id SET DEFAULT nextval('public.grading_event_id_seq'::regclass);
ALTER TABLE ONLY public.grading_judgement ALTER COLUMN id SET DEFAULT nextval('public.grading_judgement_id_seq'::regclass);
ALTER TABLE ONLY public.grading_pair ALTER COLUMN id SET DEFAULT nextval('public.grading_pair_id_seq'::regclass);
ALTER TABLE ONLY public.grading_participation ALTER COLUMN id SET DEFAULT nextval('public.grading_participation_id_seq'::regclass);
ALTER TABLE ONLY public.grading_round ALTER COLUMN id SET DEFAULT nextval('public.grading_round_id_seq'::regclass);
ALTER TABLE ONLY public.released ALTER COLUMN id SET DEFAULT nextval('public.released_id_seq'::regclass);
ALTER TABLE ONLY public.submission ALTER COLUMN number SET DEFAULT nextval('public.submission_number_seq'::regclass);
ALTER TABLE ONLY public.token ALTER COLUMN id SET DEFAULT nextval('public.token_id_seq'::regclass);
ALTER TABLE ONLY public.trouble ALTER COLUMN id SET DEFAULT nextval('public.trouble_id_seq'::regclass);
ALTER TABLE ONLY public."user" ALTER COLUMN id SET DEFAULT nextval('public.user_id_seq'::regclass);
ALTER TABLE ONLY public.verdict ALTER COLUMN id SET DEFAULT nextval('public.verdict_id_seq'::regclass);
ALTER TABLE ONLY public.version ALTER COLUMN number SET DEFAULT nextval('public.version_number_seq'::regclass);
INSERT INTO public.finding VALUES (1, 2, '', NULL, 'warning', 'missing', '1 of 2 tracks of dev (chord) have no estimate: dev1; they count as zero');
INSERT INTO public.finding VALUES (2, 2, 'dev0.lab', 1, 'error', 'unreadable', 'start is not a number: ''x''');
INSERT INTO public.grading_assignment VALUES (1, 1, 1, false, 1, 0, '2027-01-01 00:00:00', 'SS', 4.5, false, false, NULL, '2027-01-01 00:00:00');
INSERT INTO public.grading_consent_text VALUES (1, 1, '1', 'I agree.', '2027-01-01 00:00:00');
INSERT INTO public.grading_event VALUES (1, 1, 1, 1, 'window', 1, 'played', '2027-01-01 00:00:00', 0.5);
INSERT INTO public.grading_judgement VALUES (1, 1, 'window', 1, '2027-01-01 00:00:00', '{"broad": "SS", "fine": 4.5}', NULL);
INSERT INTO public.grading_loudness VALUES ('p1.wav', 1000, 1152921504606846976, -23);
INSERT INTO public.grading_pair VALUES (1, 1, 'q1', 'c1', 'q1', 'p1', false, NULL, NULL);
INSERT INTO public.grading_participation VALUES (1, 1, 3, 4611686018427387904, 4611686018427387904, '1', '2027-01-01 00:00:00', NULL);
INSERT INTO public.grading_round VALUES (1, 'similarity', '2027-01-01 00:00:00', NULL, 0);
INSERT INTO public.progress VALUES (4, 'checking', 1, 4, '2027-01-01 00:00:00');
INSERT INTO public.public_copy VALUES ('dev', 'd85b09fcc0d3b71d7ab015457dbc9c748896e266ec74e0b7d44abdbf50658216', '2027-01-01 00:00:00');
INSERT INTO public.public_copy VALUES ('other', 'x', '2027-01-01 00:00:00');
INSERT INTO public.released VALUES (1, 1, 'dev', 'chord', 'majmin', '2027-01', 0.8333333333333334, NULL, NULL, 2, false, true, true, '2027-01-01 00:00:00');
INSERT INTO public.released VALUES (2, 1, 'dev', 'chord', 'root', '2027-01', 1, NULL, NULL, 2, false, false, true, '2027-01-01 00:00:00');
INSERT INTO public.released VALUES (3, 3, 'dev', 'chord', 'majmin', '2027-01', 1, NULL, NULL, 2, false, true, true, '2027-01-01 00:00:00');
INSERT INTO public.released VALUES (4, 3, 'dev', 'chord', 'root', '2027-01', 1, NULL, NULL, 2, false, false, true, '2027-01-01 00:00:00');
INSERT INTO public.rules VALUES ('2027-01', '[{"estimates": "{track}.lab", "metrics": ["majmin", "root"], "reference": "reference/{track}.lab", "task": "chord", "tracks": "tracks.csv"}]', '2027-01-01 00:00:00');
INSERT INTO public.scored VALUES (1, 'dev', '2027-01', '2027-01-01 00:00:00');
INSERT INTO public.scored VALUES (3, 'dev', '2027-01', '2027-01-01 00:00:00');
INSERT INTO public.submission VALUES (1, '2216bd7fec0150c9', 1, 'oak', 'oak', 'dev', 'public', '2027-01-01 00:00:00', 'cc91e1eb172d006fd6fde55122bc9c809b17339e9db118d8c9c76564bf933912', 504, '2027-01', '0.1.0', 'scored', '', '5e9accb31877c2cdc7ca1618d79257ab23c0f345814e2f368ac779d6cec115e1', 4, 0, 0, 0, '2027-01-01 00:00:00', NULL, '', NULL, 0);
INSERT INTO public.submission VALUES (2, 'bedbaba6df7d3863', 2, 'elm', 'elm', 'dev', 'public', '2027-01-01 00:00:00', '3cd5b1f376071be241ed9603374c39e0d04589227d826f779d5880cb584e1e31', 117, '2027-01', '0.1.0', 'refused', '1 error: mend the files and send them again; the name is free, and the quota is as it was', '25d925c176724117dfbc0d3fc030c33b683075414b2cfbefcea728181ca1e0c0', 1, 1, 1, 0, '2027-01-01 00:00:00', NULL, '', NULL, 0);
INSERT INTO public.submission VALUES (3, 'aa1b0a2f9d7ee539', 2, 'ash', 'ash', 'dev', 'lab', '2027-01-01 00:00:00', '90ef15d9afec2be120323c177cd8ea64231ec3a9ece04d8751beb2323e7eb986', 506, '2027-01', '0.1.0', 'scored', '', '1275a6fe7c2ff6d30b93e8b6acb9689e8e2037d1db9c79f800b7c52a61557358', 4, 0, 0, 0, '2027-01-01 00:00:00', NULL, '', NULL, 0);
INSERT INTO public.submission VALUES (4, '7e96aef25c232d19', 2, 'fir', 'fir', 'dev', 'private', '2027-01-01 00:00:00', 'a081c9014246acd6ef9a803250299754c30313acb1bfce932a40cd544c15a0f0', 506, '2027-01', '0.1.0', 'received', '', '', 0, 0, 0, 0, NULL, NULL, '', NULL, 0);
INSERT INTO public.token VALUES (1, 1, 'link', '663bea6b49606ef8b12acb88c739e61102ba1ee55da029f288319db2fc8e6efb', '2027-01-01 00:00:00', '2028-01-01 00:00:00', NULL, NULL);
INSERT INTO public.token VALUES (2, 1, 'token', '4b6bf859bff2b3241d8242dcf245828937f3822e811f801d6ad8d4e2c6f58b3a', '2027-01-01 00:00:00', NULL, NULL, NULL);
INSERT INTO public.trouble VALUES (1, 'the disk is full', '2027-01-01 00:00:00');
INSERT INTO public."user" VALUES (1, 'ada', 'submitter', '', '2027-01-01 00:00:00', NULL);
INSERT INTO public."user" VALUES (2, 'bob', 'submitter', '', '2027-01-01 00:00:00', NULL);
INSERT INTO public."user" VALUES (3, 'gil', 'grader', 'Valley', '2027-01-01 00:00:00', NULL);
INSERT INTO public.verdict VALUES (1, 3, 1, 'leader', 'dev', 'chord', 'majmin', 'not told apart', 0.16666666666666663, NULL, NULL, 1, 2);
INSERT INTO public.version VALUES (1);
SELECT pg_catalog.setval('public.finding_id_seq', 2, true);
SELECT pg_catalog.setval('public.grading_assignment_id_seq', 1, true);
SELECT pg_catalog.setval('public.grading_consent_text_id_seq', 1, true);
SELECT pg_catalog.setval('public.grading_event_id_seq', 1, true);
SELECT pg_catalog.setval('public.grading_judgement_id_seq', 1, true);
SELECT pg_catalog.setval('public.grading_pair_id_seq', 1, true);
SELECT pg_catalog.setval('public.grading_participation_id_seq', 1, true);
SELECT pg_catalog.setval('public.grading_round_id_seq', 1, true);
SELECT pg_catalog.setval('public.released_id_seq', 4, true);
SELECT pg_catalog.setval('public.submission_number_seq', 4, true);
SELECT pg_catalog.setval('public.token_id_seq', 2, true);
SELECT pg_catalog.setval('public.trouble_id_seq', 1, true);
SELECT pg_catalog.setval('public.user_id_seq', 3, true);
SELECT pg_catalog.setval('public.verdict_id_seq', 1, true);
SELECT pg_catalog.setval('public.version_number_seq', 1, true);
ALTER TABLE ONLY public.finding
    ADD CONSTRAINT finding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.grading_assignment
    ADD CONSTRAINT grading_assignment_participation_id_pair_id_repeat_key UNIQUE (participation_id, pair_id, repeat);
ALTER TABLE ONLY public.grading_assignment
    ADD CONSTRAINT grading_assignment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.grading_consent_text
    ADD CONSTRAINT grading_consent_text_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.grading_consent_text
    ADD CONSTRAINT grading_consent_text_round_id_version_key UNIQUE (round_id, version);
ALTER TABLE ONLY public.grading_event
    ADD CONSTRAINT grading_event_participation_id_client_number_key UNIQUE (participation_id, client, number);
ALTER TABLE ONLY public.grading_event
    ADD CONSTRAINT grading_event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.grading_judgement
    ADD CONSTRAINT grading_judgement_assignment_id_client_number_key UNIQUE (assignment_id, client, number);
ALTER TABLE ONLY public.grading_judgement
    ADD CONSTRAINT grading_judgement_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.grading_loudness
    ADD CONSTRAINT grading_loudness_pkey PRIMARY KEY (path);
ALTER TABLE ONLY public.grading_pair
    ADD CONSTRAINT grading_pair_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.grading_pair
    ADD CONSTRAINT grading_pair_round_id_query_candidate_key UNIQUE (round_id, query, candidate);
ALTER TABLE ONLY public.grading_participation
    ADD CONSTRAINT grading_participation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.grading_participation
    ADD CONSTRAINT grading_participation_round_id_user_id_key UNIQUE (round_id, user_id);
ALTER TABLE ONLY public.grading_round
    ADD CONSTRAINT grading_round_name_key UNIQUE (name);
ALTER TABLE ONLY public.grading_round
    ADD CONSTRAINT grading_round_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.progress
    ADD CONSTRAINT progress_pkey PRIMARY KEY (submission_id);
ALTER TABLE ONLY public.public_copy
    ADD CONSTRAINT public_copy_pkey PRIMARY KEY (split);
ALTER TABLE ONLY public.released
    ADD CONSTRAINT released_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.released
    ADD CONSTRAINT released_submission_id_split_evaluation_metric_key UNIQUE (submission_id, split, evaluation, metric);
ALTER TABLE ONLY public.rules
    ADD CONSTRAINT rules_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.scored
    ADD CONSTRAINT scored_pkey PRIMARY KEY (submission_id, split, rules);
ALTER TABLE ONLY public.submission
    ADD CONSTRAINT submission_id_key UNIQUE (id);
ALTER TABLE ONLY public.submission
    ADD CONSTRAINT submission_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.trouble
    ADD CONSTRAINT trouble_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public."user"
    ADD CONSTRAINT user_name_key UNIQUE (name);
ALTER TABLE ONLY public."user"
    ADD CONSTRAINT user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.verdict
    ADD CONSTRAINT verdict_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.verdict
    ADD CONSTRAINT verdict_submission_id_split_evaluation_metric_relation_key UNIQUE (submission_id, split, evaluation, metric, relation);
ALTER TABLE ONLY public.version
    ADD CONSTRAINT version_pkey PRIMARY KEY (number);
CREATE INDEX ix_finding_submission_id ON public.finding USING btree (submission_id);
CREATE INDEX ix_grading_assignment_pair_id ON public.grading_assignment USING btree (pair_id);
CREATE INDEX ix_grading_assignment_participation_id ON public.grading_assignment USING btree (participation_id);
CREATE INDEX ix_grading_event_assignment_id ON public.grading_event USING btree (assignment_id);
CREATE INDEX ix_grading_event_participation_id ON public.grading_event USING btree (participation_id);
CREATE INDEX ix_grading_judgement_assignment_id ON public.grading_judgement USING btree (assignment_id);
CREATE INDEX ix_grading_pair_round_id ON public.grading_pair USING btree (round_id);
CREATE INDEX ix_grading_participation_round_id ON public.grading_participation USING btree (round_id);
CREATE INDEX ix_released_submission_id ON public.released USING btree (submission_id);
CREATE INDEX ix_submission_user_id ON public.submission USING btree (user_id);
CREATE INDEX ix_token_user_id ON public.token USING btree (user_id);
CREATE INDEX ix_verdict_submission_id ON public.verdict USING btree (submission_id);
CREATE UNIQUE INDEX submission_key ON public.submission USING btree (key) WHERE (state <> ALL (ARRAY['refused'::text, 'failed'::text]));
CREATE INDEX submission_state ON public.submission USING btree (state, number);
ALTER TABLE ONLY public.finding
    ADD CONSTRAINT finding_submission_id_fkey FOREIGN KEY (submission_id) REFERENCES public.submission(number);
ALTER TABLE ONLY public.grading_assignment
    ADD CONSTRAINT grading_assignment_pair_id_fkey FOREIGN KEY (pair_id) REFERENCES public.grading_pair(id);
ALTER TABLE ONLY public.grading_assignment
    ADD CONSTRAINT grading_assignment_participation_id_fkey FOREIGN KEY (participation_id) REFERENCES public.grading_participation(id);
ALTER TABLE ONLY public.grading_consent_text
    ADD CONSTRAINT grading_consent_text_round_id_fkey FOREIGN KEY (round_id) REFERENCES public.grading_round(id);
ALTER TABLE ONLY public.grading_event
    ADD CONSTRAINT grading_event_assignment_id_fkey FOREIGN KEY (assignment_id) REFERENCES public.grading_assignment(id);
ALTER TABLE ONLY public.grading_event
    ADD CONSTRAINT grading_event_participation_id_fkey FOREIGN KEY (participation_id) REFERENCES public.grading_participation(id);
ALTER TABLE ONLY public.grading_judgement
    ADD CONSTRAINT grading_judgement_assignment_id_fkey FOREIGN KEY (assignment_id) REFERENCES public.grading_assignment(id);
ALTER TABLE ONLY public.grading_pair
    ADD CONSTRAINT grading_pair_round_id_fkey FOREIGN KEY (round_id) REFERENCES public.grading_round(id);
ALTER TABLE ONLY public.grading_participation
    ADD CONSTRAINT grading_participation_round_id_fkey FOREIGN KEY (round_id) REFERENCES public.grading_round(id);
ALTER TABLE ONLY public.grading_participation
    ADD CONSTRAINT grading_participation_user_id_fkey FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.progress
    ADD CONSTRAINT progress_submission_id_fkey FOREIGN KEY (submission_id) REFERENCES public.submission(number);
ALTER TABLE ONLY public.released
    ADD CONSTRAINT released_submission_id_fkey FOREIGN KEY (submission_id) REFERENCES public.submission(number);
ALTER TABLE ONLY public.scored
    ADD CONSTRAINT scored_submission_id_fkey FOREIGN KEY (submission_id) REFERENCES public.submission(number);
ALTER TABLE ONLY public.submission
    ADD CONSTRAINT submission_user_id_fkey FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_user_id_fkey FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.verdict
    ADD CONSTRAINT verdict_other_id_fkey FOREIGN KEY (other_id) REFERENCES public.submission(number);
ALTER TABLE ONLY public.verdict
    ADD CONSTRAINT verdict_submission_id_fkey FOREIGN KEY (submission_id) REFERENCES public.submission(number);
