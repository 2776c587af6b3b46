#!/usr/bin/env node
// `npx troupe studio`: starts the Studio, which is a package of its own (`@troupe/studio`).

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const USAGE = `Usage: troupe studio [options]

The Studio shows what agents do, in a browser. 'troupe studio --help' lists its options.
`;
const MISSING = `The Studio is a package of its own. Install it first:

  npm install @troupe/studio
`;

/** The program of the Studio, as the project in this folder or this package finds it; undefined where it is not installed. */
function findStudio() {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return join(dirname(createRequire(from).resolve('@troupe/studio/package.json')), 'dist', 'bin.js');
    } catch {
      // not installed there
    }
  }
  return undefined;
}

const [command] = process.argv.splice(2, 1);
const studio = command === 'studio' ? findStudio() : undefined;
if (studio !== undefined) await import(pathToFileURL(studio).href);
else {
  process.stderr.write(command === 'studio' ? MISSING : USAGE);
  process.exitCode = 1;
}
