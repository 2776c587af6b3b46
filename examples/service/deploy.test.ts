import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const read = (name: string): string => readFileSync(join(import.meta.dirname, 'deploy', name), 'utf8');
/** Options of `troupe serve` that the files use. */
const OPTIONS = [
  ...readFileSync(join(import.meta.dirname, '../../packages/service/src/bin.ts'), 'utf8').matchAll(
    /^ {2}(--[\w-]+)/gm,
  ),
].map(([, option]) => option);

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string }[];
  readonly securityContext: object;
}

type Labels = Readonly<Record<string, string>>;

interface Manifest {
  readonly kind: string;
  readonly spec: {
    readonly selector: Labels | { readonly matchLabels: Labels };
    readonly template?: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: { readonly containers: readonly Partial<Container>[] };
    };
  };
}

/** Labels of a selector, of a Deployment or a Service. */
function labelsOf(selector: Manifest['spec']['selector']): unknown {
  return 'matchLabels' in selector ? selector['matchLabels'] : selector;
}

test('the compose file starts two gateways and three workers with options of the command', () => {
  const { services } = parse(read('compose.yaml'), { merge: true }) as {
    services: Record<string, { command?: string[]; deploy?: { replicas: number }; environment: object }>;
  };
  expect(Object.entries(services).map(([name, { deploy }]) => [name, deploy?.replicas])).toEqual([
    ['gateway', 2],
    ['worker', 3],
    ['postgres', undefined],
  ]);
  for (const name of ['gateway', 'worker']) {
    expect(OPTIONS).toEqual(
      expect.arrayContaining(services[name]?.command?.filter((arg) => arg.startsWith('--')) ?? []),
    );
    expect(services[name]?.environment).toHaveProperty('TROUPE_APPROVAL_KEY');
  }
});

test('the manifests of Kubernetes run locked-down containers with options of the command, and lead to the gateways', () => {
  const documents = parseAllDocuments(read('kubernetes.yaml')).map((one) => one.toJS() as Manifest);
  expect(documents.map(({ kind }) => kind)).toEqual(['Deployment', 'Deployment', 'Service']);
  for (const { spec } of documents.slice(0, 2)) {
    expect(spec.template?.metadata.labels).toEqual(labelsOf(spec.selector));
    const [container] = spec.template?.spec.containers ?? [];
    const { args = [], env = [], securityContext = {} } = container ?? {};
    expect(OPTIONS).toEqual(expect.arrayContaining(args.filter((arg) => arg.startsWith('--'))));
    expect(env.map(({ name }) => name)).toEqual(['TROUPE_STORE', 'TROUPE_APPROVAL_KEY']);
    expect(securityContext).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true });
  }
  const [gateway, , service] = documents.map(({ spec }) => labelsOf(spec.selector));
  expect(service).toEqual(gateway);
});

test('the image starts the command itself, so that SIGTERM reaches it', () => {
  const entry = /^ENTRYPOINT (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '[]';
  const [program, ...args] = JSON.parse(entry) as string[];
  expect([program, args.slice(1, 3)]).toEqual(['node', ['serve', 'agents.mjs']]);
  expect(OPTIONS).toEqual(expect.arrayContaining(args.filter((arg) => arg.startsWith('--'))));
});
