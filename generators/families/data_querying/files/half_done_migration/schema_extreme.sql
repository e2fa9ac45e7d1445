CREATE TABLE aliases (old_id INTEGER PRIMARY KEY, new_id INTEGER NOT NULL);
CREATE TABLE deleted (source TEXT NOT NULL, source_id INTEGER NOT NULL, PRIMARY KEY (source, source_id));
