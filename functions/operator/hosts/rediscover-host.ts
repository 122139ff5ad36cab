import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { rediscoverAnswer } from '#core/contracts/api/operator/hosts.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { rediscoverHost } from '#core/operations/host-work/rediscover-host.ts';
import { action, type Request } from '#functions/http/action.ts';
import { HttpFault } from '#functions/http/faults.ts';

type OwnRequest = Request<Record<string, never>, undefined, ConsumerDeps>;

export const rediscoverHostAction = action(
  { answers: { 202: rediscoverAnswer }, refuses: [404, 409] },
  async ({ deps, caller, id }: OwnRequest) => {
    try {
      return { body: { hostname: id, job_id: await rediscoverHost(deps, caller, id) } };
    } catch (error) {
      if (!(error instanceof RetryLater)) throw error;
      const retry = { 'Retry-After': String(error.seconds) };
      throw new HttpFault(503, 'AWS IoT takes no jobs right now.', retry);
    }
  },
);
