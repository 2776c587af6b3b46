import { useText } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { formatBytes } from '../parts/format.ts';
import { Failed, Loading } from '../parts/states.tsx';
import { Facts } from '../inside/details.tsx';
import { ConnectPrograms } from './connect-programs.tsx';
import { changeSettings, settings, type Language, type Theme } from '../settings.ts';
import { STUDIO_PROTOCOL } from '../../../src/protocol.ts';
import { useInfo } from './queries.ts';

/** Settings of this browser, and facts of the Studio. */
export function SettingsView() {
  const t = useText();
  const { theme, language, hasLetterKeys } = useStore(settings);
  const info = useInfo();
  return (
    <div className="view settings">
      <h1>{t.settings}</h1>
      <section className="form">
        <div className="field">
          <label htmlFor="theme">{t.theme}</label>
          <select
            id="theme"
            value={theme}
            onChange={(event) => changeSettings({ theme: event.target.value as Theme })}
          >
            <option value="system">{t.themes.system}</option>
            <option value="light">{t.themes.light}</option>
            <option value="dark">{t.themes.dark}</option>
          </select>
        </div>
        <div className="field">
          <label htmlFor="language">{t.language}</label>
          <select
            id="language"
            value={language}
            onChange={(event) => changeSettings({ language: event.target.value as Language })}
          >
            <option value="en">English</option>
            <option value="zh">中文</option>
          </select>
        </div>
        <label className="check">
          <input
            type="checkbox"
            checked={hasLetterKeys}
            onChange={(event) => changeSettings({ hasLetterKeys: event.target.checked })}
          />
          {t.letterKeys}
        </label>
      </section>
      {info.error !== null && <Failed error={info.error} onRetry={() => void info.refetch()} />}
      {info.data === undefined && info.error === null && <Loading />}
      {info.data !== undefined && (
        <>
          <h2>{t.connectPrograms}</h2>
          <ConnectPrograms connect={info.data.connect} />
          <h2>{t.storage}</h2>
          <Facts
            facts={[
              [t.database, <span className="mono">{info.data.storage.path}</span>],
              [
                t.size,
                `${formatBytes(info.data.storage.bytes)} / ${formatBytes(info.data.storage.maxBytes)}`,
              ],
              [t.runs, info.data.storage.runs],
              [t.keep, info.data.storage.keepDays === null ? t.forEver : t.days(info.data.storage.keepDays)],
              [t.setAside, info.data.storage.setAside],
              [t.problem, info.data.storage.problem],
            ]}
          />
          <h2>{t.versions}</h2>
          <Facts
            facts={[
              ['@troupe/studio', info.data.version],
              [
                t.protocol,
                info.data.protocol === STUDIO_PROTOCOL
                  ? STUDIO_PROTOCOL
                  : `${info.data.protocol} ≠ ${STUDIO_PROTOCOL}`,
              ],
            ]}
          />
        </>
      )}
    </div>
  );
}
