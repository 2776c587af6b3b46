#!/usr/bin/env node
// `npx troupe-studio`: starts a Studio that shows other programs, until Ctrl-C.

import { parseArgs } from 'node:util';

import { openInBrowser } from './open-browser.ts';
import { startStudio } from './start-studio.ts';

const HELP = `Usage: troupe-studio [options]

  --port <number>      default 4477
  --dir <folder>       database and token, default ~/.troupe/studio
  --host <address>     other addresses than 127.0.0.1 need --public-url and --token
  --public-url <url>   address of a proxy with TLS in front of the Studio
  --token <text>       default: a new one at each start
  --open-receivers     AgentScope programs and tracers of this machine need no key
  --keep-days <days>   default 30
  --no-browser         only prints the address
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string' },
      dir: { type: 'string' },
      host: { type: 'string' },
      'public-url': { type: 'string' },
      token: { type: 'string' },
      'open-receivers': { type: 'boolean' },
      'keep-days': { type: 'string' },
      'no-browser': { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const studio = await startStudio({
    port: values.port === undefined ? undefined : Number(values.port),
    dir: values.dir,
    host: values.host,
    publicUrl: values['public-url'],
    token: values.token,
    openReceivers: values['open-receivers'],
    keepDays: values['keep-days'] === undefined ? undefined : Number(values['keep-days']),
  });
  process.stdout.write(
    `Studio: ${studio.loginUrl}\nPrograms connect with init({ studioUrl: '${studio.url}' }). Ctrl-C ends.\n`,
  );
  if (!values['no-browser']) openInBrowser(studio.loginUrl);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void studio.close().then(() => process.exit(0)));
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
