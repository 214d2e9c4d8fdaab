#!/usr/bin/env node
import { main } from './commands/cli.ts'

process.exitCode = await main(process.argv)
