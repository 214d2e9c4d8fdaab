set local role penstock_migrate;
comment on column classroom.room.forgotten_at is 'When the provider first answered that the room does not exist; null again once it serves the log';
reset role;
