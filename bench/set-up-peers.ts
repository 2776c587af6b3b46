/**
 * Makes `.cache/peers` with everything that the comparison with peers needs: a copy of `bench/peers`, and one node_modules for each peer,
 * so that install size and number of packages are the peer's own. Troupe is packed as for publication.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Pins what the pinned versions of package.json pull in. */
const BEFORE = '2026-11-15';
const HERE = fileURLToPath(new URL('./peers', import.meta.url));
const ROOT = fileURLToPath(new URL('..', import.meta.url));
export const PLACE = join(ROOT, '.cache/peers');

/** Runs npm. Returns what went wrong, if anything. */
function npm(args: readonly string[], cwd: string): string | undefined {
  const result = spawnSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  return result.status === 0 ? undefined : result.stderr || String(result.error);
}

/** Packs the built library into the folder of its adapter. */
function packTroupe(dir: string): void {
  const failure = npm(['pack', '--ignore-scripts', '--pack-destination', dir], join(ROOT, 'packages/troupe'));
  if (failure !== undefined) throw new Error(`Packing Troupe failed: ${failure}`);
  const [packed = ''] = readdirSync(dir).filter((name) => /^troupe-.*\.tgz$/.test(name));
  renameSync(join(dir, packed), join(dir, 'troupe.tgz'));
}

/** Installs the packages of a peer into its folder, unless the same are installed. */
export function installIn(dir: string, peer: string): void {
  const manifest = join(dir, 'package.json');
  if (!existsSync(manifest)) return;
  if (peer === 'troupe') packTroupe(dir);
  const wanted = createHash('sha256').update(readFileSync(manifest));
  if (peer === 'troupe') wanted.update(readFileSync(join(dir, 'troupe.tgz')));
  const stamp = join(dir, '.installed');
  const hash = wanted.digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  console.error(`Installing ${peer} …`);
  const failure = npm(['install', '--no-package-lock', '--prefer-offline', `--before=${BEFORE}`], dir);
  if (failure !== undefined) console.error(`${peer} can't be installed, and is left out: ${failure}`);
  else writeFileSync(stamp, hash);
}

/** Copies the harness and installs the peers; all of them if no list is given. */
export function setUp(peers: readonly string[] | undefined): void {
  mkdirSync(PLACE, { recursive: true });
  cpSync(HERE, PLACE, { recursive: true });
  for (const peer of readdirSync(join(PLACE, 'adapters')))
    if (peers === undefined || peers.includes(peer)) installIn(join(PLACE, 'adapters', peer), peer);
}
