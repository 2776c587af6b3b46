import { spawn } from 'node:child_process';

/** Commands that open an address, by platform. The address is an argument, never part of a shell command. */
const COMMANDS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
};

/** Opens an address in a browser, where there is a desktop and a terminal. Fails silently: the address is printed anyway. */
export function openInBrowser(url: string): void {
  const command = COMMANDS[process.platform];
  const hasDesktop =
    process.platform !== 'linux' || Boolean(process.env['DISPLAY'] ?? process.env['WAYLAND_DISPLAY']);
  if (command === undefined || !hasDesktop || !process.stdout.isTTY || process.env['CI']) return;
  const [program, ...args] = command;
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
