import type { ConnectInfo } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { CopyButton } from '../parts/copy-button.tsx';

/** Line of a program that connects it to the Studio. */
export function initLine({ studioUrl }: ConnectInfo): string {
  return `init({ studioUrl: '${studioUrl}' });`;
}

/** One line to copy for each kind of program. */
export function ConnectPrograms({ connect }: { connect: ConnectInfo }) {
  const t = useText();
  const programs = [
    [t.connect.troupe, `import { init } from 'troupe';\n${initLine(connect)}`],
    [t.connect.agentscope, `agentscope.init(studio_url="${connect.agentscopeUrl}")`],
    [t.connect.otlp, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${connect.otlpUrl}`],
  ] as const;
  return (
    <div className="connect">
      {programs.map(([name, code]) => (
        <figure key={name} className="code">
          <figcaption>
            <span>{name}</span>
            <CopyButton text={code} label={t.copyLine(name)} />
          </figcaption>
          <pre tabIndex={0}>
            <code>{code}</code>
          </pre>
        </figure>
      ))}
      <p className="sub">{t.connectKey}</p>
    </div>
  );
}
