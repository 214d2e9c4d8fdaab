-- A file that its recording no longer lists stays as it was listed last, and says since when it is gone, as a resource does.
alter table classroom.recording_file add column removed_at timestamptz;
