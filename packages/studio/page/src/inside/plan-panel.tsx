import type { JsonObject } from 'troupe';

import type { PlanInside, SubtaskInside } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { Empty } from '../parts/states.tsx';
import { useAgentInside } from './agent-panel.tsx';
import type { InspectorProps } from './inspector.tsx';

const COLUMNS: readonly SubtaskInside['state'][] = ['todo', 'in_progress', 'done', 'abandoned'];

/** The plan of an agent as a board. */
export function PlanPanel(props: InspectorProps) {
  const t = useText();
  const { inside } = useAgentInside(props);
  const told = [...props.fold.plans.values()].findLast((plan) => plan !== null);
  const plan = told === undefined || told === null ? inside.data?.plan : readPlan(told);
  if (plan === undefined || plan === null) return <Empty title={t.noPlan} />;
  const done = plan.subtasks.filter(({ state }) => state === 'done').length;
  return (
    <div className="plan">
      <h2>{plan.name}</h2>
      <p>{plan.description}</p>
      <div className="plan-progress">
        <progress max={plan.subtasks.length} value={done} aria-label={t.progress} />
        <span className="sub">
          {done} / {plan.subtasks.length}
        </span>
      </div>
      <div className="board">
        {COLUMNS.map((state) => {
          const tasks = plan.subtasks.filter((task) => task.state === state);
          if (tasks.length === 0 && state === 'abandoned') return null;
          return (
            <section key={state} data-state={state} aria-label={t.taskState[state]}>
              <h3>
                {t.taskState[state]} <span className="count">{tasks.length}</span>
              </h3>
              <ul>
                {tasks.map((task) => (
                  <li key={task.name}>
                    <strong>{task.name}</strong>
                    <p>{task.description}</p>
                    {task.outcome !== undefined && task.outcome !== '' && (
                      <p className="outcome">✓ {task.outcome}</p>
                    )}
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </div>
    </div>
  );
}

/** Reads a plan of an event, which is JSON of the program. */
function readPlan(plan: JsonObject): PlanInside {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const list = Array.isArray(plan['subtasks']) ? plan['subtasks'] : [];
  const subtasks = list.flatMap((task): SubtaskInside[] => {
    if (typeof task !== 'object' || task === null || Array.isArray(task)) return [];
    const state = COLUMNS.find((one) => one === task['state']) ?? 'todo';
    const outcome = text(task['outcome']);
    return [
      {
        name: text(task['name']),
        description: text(task['description']),
        state,
        ...(outcome !== '' && { outcome }),
      },
    ];
  });
  return {
    name: text(plan['name']),
    description: text(plan['description']),
    state: text(plan['state']),
    subtasks,
  };
}
