import type { BudgetInside } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { formatCost, formatCount, formatMs } from '../parts/format.ts';

/** The budgets around a sub-agent, each limit with what was spent of it. */
export function Budgets({ budgets }: { budgets: readonly BudgetInside[] }) {
  const t = useText();
  return (
    <section>
      <h3>{t.budget}</h3>
      {budgets.map((budget, index) => (
        <Budget key={index} budget={budget} />
      ))}
    </section>
  );
}

function Budget({ budget }: { budget: BudgetInside }) {
  const t = useText();
  const { spent, limits, isHost } = budget;
  return (
    <>
      <p className="sums">
        <strong>{isHost ? t.budgetOfHost : t.budgetOfTask}</strong>
        <span>{t.calls(spent.modelCalls)}</span>
        <span>
          {formatCount(spent.tokens)} {t.tokens}
        </span>
        <span>{formatCost(spent.cost)}</span>
        <span>{formatMs(spent.ms)}</span>
      </p>
      {Object.keys(limits).length === 0 && <p className="sub">{t.noLimits}</p>}
      <ul className="meters">
        {Object.entries(limits).map(([name, limit]) => {
          const used = usedOf(name, budget);
          return (
            <li key={name}>
              <span className="mono">{name}</span>
              {used === undefined ? (
                <span />
              ) : (
                <meter min={0} max={limit} high={limit * 0.8} value={used} aria-label={name} />
              )}
              <span className="sub">
                {used === undefined
                  ? limit.toLocaleString()
                  : `${used.toLocaleString()} / ${limit.toLocaleString()}`}
              </span>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** Spent amount of a limit; undefined: the limit counts nothing, such as a depth. */
function usedOf(name: string, { spent }: BudgetInside): number | undefined {
  switch (name) {
    case 'maxTokens':
      return spent.tokens;
    case 'maxCost':
      return spent.cost;
    case 'maxWallMs':
      return spent.ms;
    case 'maxModelCalls':
      return spent.modelCalls;
    case 'maxDelegations':
      return spent.delegations;
    default:
      return undefined;
  }
}
