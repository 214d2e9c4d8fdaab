-- What was never served makes nothing incomplete, and goes when no answer can change it any more.
create index gap_absent on ingest.gap (updated_at) where state = 'absent';
