// Size and number of the packages reachable from `roots` in an adapter's node_modules.
import { existsSync, lstatSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

export function installed(dir, roots) {
  const seen = new Map();
  const visit = (from, name) => {
    for (let d = from; d.startsWith(dir); d = dirname(d)) {
      const at = join(d, 'node_modules', name);
      if (!existsSync(join(at, 'package.json'))) continue;
      const real = realpathSync(at);
      if (seen.has(real)) return;
      const p = JSON.parse(readFileSync(join(real, 'package.json')));
      seen.set(real, sizeOf(real));
      const optionalPeers = p.peerDependenciesMeta ?? {};
      const peers = Object.keys(p.peerDependencies ?? {}).filter((n) => !optionalPeers[n]?.optional);
      for (const n of new Set([
        ...Object.keys(p.dependencies ?? {}),
        ...Object.keys(p.optionalDependencies ?? {}),
        ...peers,
      ]))
        visit(real, n);
      return;
    }
  };
  for (const r of roots) visit(dir, r);
  return { packages: seen.size, MB: [...seen.values()].reduce((a, b) => a + b, 0) / 1e6 };
}

export function sizeOf(path) {
  const st = lstatSync(path);
  if (!st.isDirectory()) return st.size;
  let n = 0;
  for (const f of readdirSync(path)) if (f !== 'node_modules') n += sizeOf(join(path, f));
  return n;
}
