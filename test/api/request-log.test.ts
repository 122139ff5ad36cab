// The request's log line: Nova logs only the status of a refusal, so the reason must be found
// here.

import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { startWorld, type World } from '#test/support/world.ts';

const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
const provider = providerUuid('cmp1_FakeDevice');
const lines: Readonly<Record<string, unknown>>[] = [];
let world: World;
let arq: string;

beforeAll(async () => {
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    const line = String(text);
    if (line.startsWith('{')) lines.push(JSON.parse(line));
    return true;
  });
  world = await startWorld({ settings: { POWERTOOLS_LOG_LEVEL: 'INFO' } });
  await applyReport(world.deps, 'cmp1', aReport([aDevice({ handles: 1 })]), Date.now());
  await world.createProfile('two', { 'resources:FPGA': '2' });
  [arq] = await world.createArqs('two');
});
afterEach(() => void lines.splice(0));
afterAll(async () => {
  vi.restoreAllMocks();
  await world.stop();
});

function lineOf(requestId: string | null): unknown {
  return lines.find((line) => line.request_id === requestId && line.message === 'Request answered');
}

it('names the reason, ARQs, instance, host and providers of a refused bind', async () => {
  const { status, headers } = await world.bindArqs(arq, { host: 'cmp2', provider, instance });
  expect(status).toBe(400);
  expect(lineOf(headers.get('x-openstack-request-id'))).toMatchObject({
    status: 400,
    refusal: `Resource provider ${provider} is not on host cmp2.`,
    arqs: [arq],
    instance,
    host: 'cmp2',
    providers: [provider],
  });
});

it('names the profile of a refused create', async () => {
  const { headers } = await world.asNova('POST', '/v2/accelerator_requests', {
    device_profile_name: 'none',
  });
  expect(lineOf(headers.get('x-openstack-request-id'))).toMatchObject({
    status: 404,
    refusal: 'Device profile none not found.',
    profile: 'none',
  });
});

it('names the ARQs of a refused delete', async () => {
  const missing = '99999999-0000-4000-8000-000000000009';
  const { headers } = await world.asNova('DELETE', `/v2/accelerator_requests?arqs=${missing}`);
  expect(lineOf(headers.get('x-openstack-request-id'))).toMatchObject({
    status: 404,
    refusal: `Accelerator request ${missing} not found.`,
    arqs: [missing],
  });
});

it('names the ARQs that are bound at once, and those that a delete by instance releases', async () => {
  await world.createProfile('one', { 'resources:FPGA': '1' });
  const [bound] = await world.createArqs('one');
  const { headers } = await world.bindArqs(bound, { host: 'cmp1', provider, instance });
  const released = await world.deleteArqsOf(instance);
  for (const answered of [headers, released.headers]) {
    const line = lineOf(answered.get('x-openstack-request-id'));
    expect(line).toMatchObject({ arqs: [bound], instance });
  }
  expect(lines.map(({ message }) => message)).not.toContain('ARQs released');
});
