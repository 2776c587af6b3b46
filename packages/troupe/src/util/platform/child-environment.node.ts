/** What a child may see of our environment: enough to start and to find its files, and nothing that could be a secret. */
const SAFE_NAMES: readonly string[] =
  process.platform === 'win32'
    ? [
        'APPDATA',
        'COMSPEC',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PATHEXT',
        'PROGRAMDATA',
        'PROGRAMFILES',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'TMP',
        'USERNAME',
        'USERPROFILE',
        'WINDIR',
      ]
    : ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

/** The environment of a child process: the safe part of ours, and what is given. */
export function childEnvironment(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of SAFE_NAMES) {
    const value = process.env[name];
    if (value !== undefined && !value.startsWith('()')) env[name] = value; // a shell function, which some shells run
  }
  return { ...env, ...given };
}
