import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file of the page, in memory. */
export interface PageFile {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Whether the name has a hash, so that the content never changes. */
  readonly isHashed: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
};

const PLACEHOLDER = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Troupe Studio</title>
<h1>Troupe Studio</h1>
<p>The server runs, but the page is not built: this package has no folder <code>dist/page</code>.
In the repository, <code>npm run build</code> makes it.</p>
</html>
`;

/**
 * Reads the built page into memory, by path below the page's folder. Requests choose among these files: no path of a URL reaches the file
 * system. Without a built page there is one placeholder, which says so.
 */
export function readPage(folder = defaultFolder()): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const name of listFiles(folder)) {
    const path = name.split(sep).join('/');
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const isHashed = path.startsWith('assets/');
    files.set(path, { type, body: new Uint8Array(readFileSync(join(folder, name))), isHashed });
  }
  if (!files.has('index.html')) {
    const body = new TextEncoder().encode(PLACEHOLDER);
    files.set('index.html', { type: TYPES['.html'] ?? '', body, isHashed: false });
  }
  return files;
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  } catch {
    return [];
  }
}

/** The folder `dist/page` of this package, seen from `dist` and from `src/server`. */
function defaultFolder(): string {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const [root = here] = here.split(/[\\/](?:dist|src)[\\/](?!.*[\\/](?:dist|src)[\\/])/);
  return join(root, 'dist', 'page');
}
