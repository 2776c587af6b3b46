#!/usr/bin/env node
// `npx troupe studio` and `npx troupe serve`: start the Studio and the service, which are packages of their own.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Packages of the commands. */
const PACKAGES = { studio: '@troupe/studio', serve: '@troupe/service' };

const USAGE = `Usage: troupe studio [options]
       troupe serve <file> [options]

The Studio shows what agents do, in a browser. The service offers the agents of a file over HTTP. --help lists the options of each.
`;

/**
 * The program of a package, as the project in this folder or this package finds it; undefined where it is not installed.
 * @param {string} name
 */
function findProgram(name) {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return join(dirname(createRequire(from).resolve(`${name}/package.json`)), 'dist', 'bin.js');
    } catch {
      // not installed there
    }
  }
  return undefined;
}

const [command = ''] = process.argv.splice(2, 1);
const name = Object.hasOwn(PACKAGES, command)
  ? PACKAGES[/** @type {'studio' | 'serve'} */ (command)]
  : undefined;
const program = name === undefined ? undefined : findProgram(name);
if (program !== undefined) await import(pathToFileURL(program).href);
else {
  const missing = `'troupe ${command}' is a package of its own. Install it first:\n\n  npm install ${name}\n`;
  process.stderr.write(name === undefined ? USAGE : missing);
  process.exitCode = 1;
}
