import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { reapAnswer } from '#core/contracts/api/operator/incidents.ts';
import type { WaitingInstance } from '#core/domain/arq/reaper.ts';
import { reapWaiting, waitingInstances } from '#core/operations/release/reap/reap-waiting.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { action, type Request } from '#functions/http/action.ts';

/** An API request has 29 s, and the last instance takes some. */
const reapMs = 15_000;

const body = z.strictObject({
  dry_run: z.boolean().default(true).meta({ description: 'false: release what is not in use' }),
  instance: z.guid().toLowerCase().optional().meta({ description: 'only this instance' }),
});

type OwnRequest = Request<Record<string, never>, z.infer<typeof body>, ConsumerDeps>;

/** Releases, or only lists, the unused instances for which the reaper waits. */
export const reapAction = action(
  { body, answers: { 200: reapAnswer }, refuses: [409] },
  async ({ deps, caller, body: { dry_run, instance }, about }: OwnRequest) => {
    about({ dry_run, instance });
    const waiting = await waitingInstances(deps, instance);
    const end = dry_run
      ? { released: [], kept: [], left: 0 }
      : await reapWaiting(deps, caller, instance, deps.clock() + reapMs);
    const listed = waiting.toSorted((a, b) => (a.since < b.since ? -1 : 1)).map(withNova);
    return { body: toWire(reapAnswer, { dryRun: dry_run, waiting: listed, ...end }) };
  },
);

function withNova(instance: WaitingInstance) {
  return { ...instance, nova: instance.isAbsent ? 'not-found' : 'no-host' } as const;
}
