CREATE TABLE legacy_@people@ (id INTEGER PRIMARY KEY, full_name TEXT, contact TEXT, active TEXT);
CREATE TABLE legacy_@moves@ (id INTEGER PRIMARY KEY, @person@_id INTEGER, @day@ TEXT, amount TEXT, @kind@ TEXT);
CREATE TABLE @people@ (id INTEGER PRIMARY KEY, given TEXT NOT NULL, family TEXT NOT NULL, email TEXT, phone TEXT,
  active INTEGER NOT NULL CHECK (active IN (0, 1)), @balance@ INTEGER NOT NULL DEFAULT 0);
CREATE TABLE @kind@_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE @moves@ (id INTEGER PRIMARY KEY, @person@_id INTEGER NOT NULL REFERENCES @people@(id), @day@ TEXT NOT NULL,
  @cents@ INTEGER NOT NULL, @kind@_id INTEGER REFERENCES @kind@_names(id));
CREATE TABLE quarantine (source TEXT NOT NULL, source_id INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (source, source_id));
CREATE TABLE migration (step TEXT PRIMARY KEY, state TEXT NOT NULL, last_id INTEGER);
