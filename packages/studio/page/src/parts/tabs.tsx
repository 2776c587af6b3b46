import { useId, useRef, type KeyboardEvent, type ReactNode } from 'react';

export interface Tab<Key extends string> {
  readonly key: Key;
  readonly label: string;
  readonly icon?: ReactNode;
  readonly badge?: ReactNode;
}

interface TabsProps<Key extends string> {
  readonly tabs: readonly Tab<Key>[];
  readonly chosen: Key;
  readonly onChoose: (key: Key) => void;
  readonly label: string;
  readonly children: ReactNode;
  readonly className?: string;
}

/** Tabs with arrow keys; the panel is of the chosen tab. */
export function Tabs<Key extends string>({
  tabs,
  chosen,
  onChoose,
  label,
  children,
  className = '',
}: TabsProps<Key>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const at = tabs.findIndex(({ key }) => key === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChoose(next.key);
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.key}"]`)?.focus();
  };
  return (
    <div className={`tabs ${className}`}>
      <div className="tab-list" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map(({ key, label: text, icon, badge }) => (
          <button
            key={key}
            type="button"
            role="tab"
            data-tab={key}
            id={`${id}-${key}`}
            aria-selected={key === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={key === chosen ? 0 : -1}
            onClick={() => onChoose(key)}
          >
            {icon}
            <span>{text}</span>
            {badge}
          </button>
        ))}
      </div>
      <div
        className="tab-panel"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${chosen}`}
        tabIndex={-1}
      >
        {children}
      </div>
    </div>
  );
}
