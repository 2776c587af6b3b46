#!/usr/bin/env node
// `npx troupe-studio`: starts the Studio.

process.exitCode = 0;
