import { describe, expect, it } from 'vitest';
import { type JobKind, jobId, readJobId } from '#core/contracts/job-ids.ts';

const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';
const kinds: JobKind[] = ['bind', 'free', 'prog', 'boot', 'look'];

describe('ids of jobs', () => {
  it.each(kinds)('say that a job is for a %s', (kind) => {
    const id = jobId('prod-1', kind, uuid);
    expect(readJobId('prod-1', id)).toEqual({ kind, uuid });
    expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('fit into what AWS allows, whatever the stage', () => {
    expect(jobId('s'.repeat(20), 'bind', uuid).length).toBeLessThanOrEqual(64);
  });

  it.each(['', 'prod-bind-x', `dev-bind-${uuid}`, `prod-nope-${uuid}`, `prod-${uuid}`])(
    '%j is none of ours',
    (id) => {
      expect(readJobId('prod', id)).toBeUndefined();
    },
  );
});
