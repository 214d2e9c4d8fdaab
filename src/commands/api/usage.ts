/** What holds for every operation; printed by the help of the command. */
export const apiUsage = `
  --config <file>     configuration file (YAML) (default: "penstock.yaml")
  --app <id>          App ID of the project; not needed where the file has one app only
  --patience <time>   how long the request may wait for its turn (default: 60s)
  --request-id <uuid> X-Request-ID to send (default: a new one for each request)
  --dry-run           print the request, secrets replaced; connect to nothing
  --json              print one line of JSON; errors too
  --help              what an operation does, its parameters and their rules

A value is written as it is; objects and lists as JSON. @FILE takes it from a file, env:NAME from the environment, and
text:VALUE is VALUE itself, whatever it begins with. Secrets are taken from files and from the environment only.
Requests go through the same limits as those of the daemon, whether or not one runs.

Exit codes: 0 well, 1 failed here (database), 2 wrong command line or parameter, 3 the provider says the request is
wrong (400), 4 there is no such thing (404), 5 conflict (409), 6 no access (401, 403, plan), 7 a limit or a quota is
used up, 8 the provider failed (500, 503) or answered what cannot be read, 9 no answer: nobody knows whether it was
done, 78 wrong configuration.

Examples:
  penstock api                                          the operations
  penstock api players.createPlayer --help              the parameters of one
  penstock api classroom.setRoomState --app 0a1b2c --roomUuid math-1 --state 1
  penstock api players.createPlayer --app 0a1b2c --channelName math-1 --uid 7 \\
    --streamUrl rtmp://media.example.com/live/math --token env:CHANNEL_TOKEN
  penstock api analytics.callSearch --app 0a1b2c --start_ts 1772000000 --end_ts 1772003600 --json`
