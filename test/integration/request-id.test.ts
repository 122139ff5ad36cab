// The request id goes from the answer to the last log line of the request: through every function,
// into the host's job, and back.

import { json } from 'node:stream/consumers';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { JobDocument } from '#core/contracts/jobs/job-document.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import type { HostWorkKind } from '#core/domain/host-work/host-work.ts';
import { type DeviceUuid, providerUuid } from '#core/domain/ids.ts';
import { aJobEnd } from '#test/support/builders.ts';
import { iotAt, serveHttp } from '#test/support/http-server.ts';
import { aGpu } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const provider = providerUuid('cmp1_Gpu');
const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
const lines: Readonly<Record<string, unknown>>[] = [];
const jobs: JobDocument[] = [];
const jobService = perFile(() =>
  serveHttp(async (request, response) => {
    if (request.method === 'PUT') {
      const { document } = (await json(request)) as { document?: string };
      if (document) jobs.push(JSON.parse(document));
    }
    response.end('{}');
  }),
);
const world = perFile(() => {
  const settings = { POWERTOOLS_LOG_LEVEL: 'INFO', CYBORG_ATTACH_TYPES: 'MDEV' };
  return startWorld({ consumers: true, settings: { ...settings, ...iotAt(jobService) } });
});

beforeAll(async () => {
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      const line = String(text);
      if (line.startsWith('{')) lines.push(JSON.parse(line));
      return true;
    });
  }
  await world.report(host, [aGpu([{ asked_type: 'nvidia-223', vgpu_mark: '1' }])]);
  await world.createProfile('vgpu', { 'resources:VGPU': '1' });
});
afterAll(() => void vi.restoreAllMocks());

/** Log lines of all functions with the request id of the answer. */
const said = (id: string, message: string) =>
  lines.filter((line) => line.request_id === id && line.message === message);

function idOf({ headers }: { headers: Headers }): string {
  return headers.get('x-openstack-request-id') ?? '';
}

async function endJob(kind: HostWorkKind, uuid: string) {
  const thingArn = `arn:aws:iot:us-east-1:000000000000:thing/${host}`;
  const event = aJobEnd(jobId('test', kind, uuid), { thingArn });
  const payload = Buffer.from(JSON.stringify(event)).toString('base64');
  const MessageBody = JSON.stringify({ thing: 'x', topic: 'any', received_at: 1, payload });
  const QueueUrl = world.deps.settings.queueUrls['job-events'];
  await new SQSClient().send(new SendMessageCommand({ QueueUrl, MessageBody }));
}

it('goes from a bind to the host, and on to Nova', async () => {
  const arqs = await world.createArqs('vgpu');
  const bound = await world.bindArqs(arqs, { host, provider, instance });
  expect(bound.status).toBe(202);
  const id = idOf(bound);
  expect(said(id, 'Bind started')).toHaveLength(1);
  await eventually(() => said(id, 'Bind job created')).toHaveLength(1);
  expect(jobs).toMatchObject([{ action: 'prepare', request_id: id }]);
  const binding = await world.deps.store.arqs.binding(instance);
  // Without a service token the list does not wait, and Nova gets the event.
  const path = `/v2/accelerator_requests?instance=${instance}`;
  expect((await world.ask('GET', path, { token: 'demo-token' })).status).toBe(200);
  await endJob('bind', binding?.bindId ?? '');
  await eventually(() => said(id, 'ARQs bound')).toHaveLength(1);
  await eventually(() => said(id, 'Nova notified')).toHaveLength(1);
});

it('goes from a delete to the host, and back', async () => {
  const ended = await world.deleteArqsOf(instance);
  expect(ended.status).toBe(204);
  const id = idOf(ended);
  await eventually(() => said(id, 'Release job created')).toHaveLength(1);
  expect(jobs.at(-1)).toMatchObject({ action: 'release', request_id: id });
  const stored = await world.deps.store.inventory.provider(provider);
  await endJob('release', stored?.handles[0]?.release ?? '');
  await eventually(() => said(id, 'Release confirmed')).toHaveLength(1);
});

it("goes from an operator's change of a device to Placement", async () => {
  const { json: listed } = await world.ask('GET', '/v2/devices');
  const uuid = listed.devices[0].uuid as DeviceUuid;
  const disabled = await world.ask('POST', `/v2/devices/${uuid}/disable`);
  expect(disabled.status).toBe(204);
  // Placement here has no such compute node, so that the consumer logs a line.
  const id = idOf(disabled);
  await eventually(() => said(id, 'Placement not synchronised yet').length).toBeGreaterThanOrEqual(
    1,
  );
});
