import { Component, type ReactNode } from 'react';

import { settings } from '../settings.ts';
import { DICTIONARIES } from '../i18n/use-text.ts';
import { CopyButton } from './copy-button.tsx';

interface Props {
  readonly children: ReactNode;
  /** A new value shows the children again. */
  readonly resetKey?: string;
}

interface State {
  readonly problem: string | undefined;
  readonly resetKey: string | undefined;
}

/** Keeps a failure in one part of the page from taking the rest with it. */
export class ErrorBoundary extends Component<Props, State> {
  override readonly state: State = { problem: undefined, resetKey: this.props.resetKey };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { problem: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }

  static getDerivedStateFromProps({ resetKey }: Props, state: State): Partial<State> | null {
    return resetKey === state.resetKey ? null : { problem: undefined, resetKey };
  }

  override render(): ReactNode {
    const { problem } = this.state;
    if (problem === undefined) return this.props.children;
    const t = DICTIONARIES[settings.get().language];
    return (
      <div className="state bad-state" role="alert">
        <p>
          <strong>{t.partFailed}</strong>
        </p>
        <p className="mono">
          {problem} <CopyButton text={problem} />
        </p>
      </div>
    );
  }
}
