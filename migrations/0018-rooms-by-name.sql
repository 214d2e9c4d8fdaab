-- A room is looked up for nearly every page. Without statistics, as at first, any index that begins with the app is as good as the key to
-- the planner, and reads all rooms of the app; a hash is always the cheapest.
create index concurrently if not exists room_by_name on classroom.room using hash (room_uuid);
