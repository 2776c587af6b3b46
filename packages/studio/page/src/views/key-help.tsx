import { useText } from '../i18n/use-text.ts';
import { Dialog } from '../parts/dialog.tsx';

/** The keyboard map. */
export function KeyHelp({ onClose }: { onClose: () => void }) {
  const t = useText();
  return (
    <Dialog title={t.keyboard} onClose={onClose} className="key-help">
      <dl className="keys">
        {t.keys.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
