import { lazy, Suspense } from 'react';

import type { RunDetail, StudioRun } from '../../../src/protocol.ts';
import type { Row } from '../conversation/rows.ts';
import { useText } from '../i18n/use-text.ts';
import type { TapeFold } from '../live/tape-fold.ts';
import { ErrorBoundary } from '../parts/error-boundary.tsx';
import { Loading } from '../parts/states.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { changeQuery, useRoute } from '../route.ts';
import { AgentPanel } from './agent-panel.tsx';
import { Details } from './details.tsx';
import { PromptPanel } from './prompt-panel.tsx';
import { TracePanel } from './trace-panel.tsx';

const PlanPanel = lazy(async () => ({ default: (await import('./plan-panel.tsx')).PlanPanel }));

export interface InspectorProps {
  readonly run: StudioRun;
  readonly detail: RunDetail;
  readonly fold: TapeFold;
  readonly version: number;
  readonly row: Row | undefined;
  /** Entry that is looked at; undefined: now. */
  readonly at: number | undefined;
  readonly onSelectSeq: (seq: number) => void;
}

const TABS = ['details', 'trace', 'prompts', 'memory', 'plan', 'tools', 'state'] as const;
type TabKey = (typeof TABS)[number];

/** The inside of a run: what is selected, its trace, prompts, and the agents' memory, plan, tools and state. Folder `inside`: start here. */
export function Inspector(props: InspectorProps) {
  const t = useText();
  const { query } = useRoute();
  const wanted = query.get('tab');
  const chosen: TabKey = TABS.find((tab) => tab === wanted) ?? 'details';
  return (
    <Tabs
      label={t.inspector}
      tabs={TABS.map((key) => ({ key, label: t.insideTabs[key] }))}
      chosen={chosen}
      onChoose={(tab) => changeQuery({ tab })}
    >
      <ErrorBoundary resetKey={`${chosen}${props.row?.key ?? ''}`}>
        <Suspense fallback={<Loading />}>{panelOf(chosen, props)}</Suspense>
      </ErrorBoundary>
    </Tabs>
  );
}

function panelOf(tab: TabKey, props: InspectorProps) {
  switch (tab) {
    case 'details':
      return <Details {...props} />;
    case 'trace':
      return <TracePanel {...props} />;
    case 'prompts':
      return <PromptPanel {...props} />;
    case 'plan':
      return <PlanPanel {...props} />;
    case 'memory':
    case 'tools':
    case 'state':
      return <AgentPanel {...props} part={tab} />;
  }
}
