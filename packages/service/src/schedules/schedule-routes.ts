import type { Route } from '../http/route.ts';
import * as schemas from '../http/schemas.ts';
import { toMsgs } from '../runs/run-requests.ts';
import type { MissedTicks } from './schedule-ticks.ts';
import type { ScheduleRecord, Schedules } from './schedules.ts';

const TEXT = { type: 'string' };
const NEW_SCHEDULE = {
  type: 'object',
  properties: {
    agent: TEXT,
    cron: { type: 'string', minLength: 1, maxLength: 200 },
    input: schemas.INPUT,
    session: schemas.ID,
    timezone: { type: 'string', minLength: 1, maxLength: 100 },
    missed: { enum: ['skip', 'last', 'all'] },
  },
  required: ['agent', 'cron', 'input'],
  additionalProperties: false,
};
const SCHEDULE = {
  type: 'object',
  properties: {
    id: TEXT,
    session: TEXT,
    cron: TEXT,
    timezone: TEXT,
    missed: TEXT,
    isPaused: { type: 'boolean' },
    nextAt: { type: 'integer' },
  },
  required: ['id', 'session', 'cron', 'timezone', 'missed', 'isPaused', 'nextAt'],
};

/** The operations about schedules. The history of a schedule are the runs of its session. */
export function scheduleRoutes(schedules: Schedules): readonly Route[] {
  const paused = (verb: string, isPaused: boolean): Route => ({
    method: 'post',
    path: `/api/schedules/{schedule}/${verb}`,
    summary: isPaused ? 'Pause a schedule' : 'Go on with a schedule, from now on',
    body: { type: 'object', additionalProperties: false },
    status: 200,
    answer: SCHEDULE,
    handle: async ({ caller, params }) =>
      view(await schedules.setPaused(caller.user, params['schedule'] ?? '', isPaused)),
  });
  return [
    {
      method: 'post',
      path: '/api/schedules',
      summary: 'Start runs by a cron expression',
      body: NEW_SCHEDULE,
      status: 201,
      answer: SCHEDULE,
      handle: async ({ caller, body }) =>
        view(
          await schedules.add(caller.user, {
            agent: String(body['agent']),
            cron: String(body['cron']),
            msgs: toMsgs(body['input']),
            session: body['session'] as string | undefined,
            timezone: body['timezone'] as string | undefined,
            missed: body['missed'] as MissedTicks | undefined,
          }),
        ),
    },
    {
      method: 'get',
      path: '/api/schedules',
      summary: 'List the schedules, next tick first',
      status: 200,
      answer: schemas.listOf(SCHEDULE),
      handle: async ({ caller }) => ({ data: (await schedules.list(caller.user)).map(view) }),
    },
    {
      method: 'delete',
      path: '/api/schedules/{schedule}',
      summary: 'Delete a schedule; its session and runs stay',
      status: 204,
      handle: async ({ caller, params }) => {
        await schedules.remove(caller.user, params['schedule'] ?? '');
        return undefined;
      },
    },
    paused('pause', true),
    paused('resume', false),
  ];
}

function view({ id, session, cron, timezone, missed, isPaused, nextAt }: ScheduleRecord): object {
  return { id, session, cron, timezone, missed, isPaused, nextAt };
}
