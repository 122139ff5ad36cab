import { describe, expect, it } from 'vitest';
import { jobId, readJobId } from '#core/contracts/jobs/job-ids.ts';
import { isStage } from '#core/contracts/topics.ts';
import { hostWorkKinds } from '#core/domain/host-work/host-work.ts';

const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';

describe('ids of jobs', () => {
  it.each(hostWorkKinds)('name %s work', (kind) => {
    const id = jobId('prod-1', kind, uuid);
    expect(readJobId('prod-1', id)).toEqual({ kind, uuid });
    expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it.each(hostWorkKinds)('of %s work have at most 64 characters in every stage', (kind) => {
    const longest = 's'.repeat(15);
    expect([isStage(longest), isStage(`${longest}s`)]).toEqual([true, false]);
    expect(jobId(longest, kind, uuid).length).toBeLessThanOrEqual(64);
  });

  it.each(['', 'prod-bind-x', `dev-bind-${uuid}`, `prod-nope-${uuid}`, `prod-${uuid}`])(
    '%j is not a job id of the stage',
    (id) => {
      expect(readJobId('prod', id)).toBeUndefined();
    },
  );
});
