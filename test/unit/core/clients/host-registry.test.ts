// Requests to AWS whose differences the local registry does not show.

import {
  AttachThingPrincipalCommand,
  CreateCertificateFromCsrCommand,
  DescribeEndpointCommand,
  DescribeThingCommand,
  IoTClient,
  ListThingsCommand,
  UpdateCertificateCommand,
} from '@aws-sdk/client-iot';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRegistry } from '#core/clients/aws/host-registry.ts';

const iot = mockClient(IoTClient);
const registry = createRegistry(new IoTClient({ region: 'us-east-1' }), 'prod');
const certificate = {
  id: 'a'.repeat(64),
  arn: `arn:aws:iot:us-east-1:000000000000:cert/${'a'.repeat(64)}`,
  status: 'ACTIVE',
  pem: '',
  createdAt: new Date(0),
};

beforeEach(() => iot.reset());

function asked(): unknown[] {
  return iot.calls().map(({ args }) => [args[0].constructor.name, args[0].input]);
}

describe('the registry', () => {
  it('makes certificates that are inactive at first', async () => {
    const answer = { certificateId: certificate.id, certificateArn: certificate.arn };
    iot.on(CreateCertificateFromCsrCommand).resolves({ ...answer, certificatePem: 'PEM' });
    expect(await registry.issue('REQUEST')).toMatchObject({
      id: certificate.id,
      arn: certificate.arn,
      pem: 'PEM',
      status: 'INACTIVE',
    });
    const input = { certificateSigningRequest: 'REQUEST', setAsActive: false };
    expect(asked()).toEqual([['CreateCertificateFromCsrCommand', input]]);
  });

  it('attaches certificates to one thing exclusively', async () => {
    iot.on(AttachThingPrincipalCommand).resolves({});
    await registry.attach(certificate, 'prod:cmp1');
    const input = { thingName: 'prod:cmp1', principal: certificate.arn };
    expect(asked()).toEqual([
      ['AttachThingPrincipalCommand', { ...input, thingPrincipalType: 'EXCLUSIVE_THING' }],
    ]);
  });

  it('ends connections before it detaches anything', async () => {
    iot.onAnyCommand().resolves({});
    await registry.remove(certificate, 'prod:cmp1');
    expect(iot.calls().map(({ args }) => args[0].constructor.name)).toEqual([
      ...['UpdateCertificateCommand', 'DetachPolicyCommand', 'DetachThingPrincipalCommand'],
      'DeleteCertificateCommand',
    ]);
    const statuses = iot.commandCalls(UpdateCertificateCommand).map(({ args }) => args[0].input);
    expect(statuses.map(({ newStatus }) => newStatus)).toEqual(['INACTIVE']);
  });

  it('asks for the endpoint whose authorities hosts trust', async () => {
    iot.on(DescribeEndpointCommand).resolves({ endpointAddress: 'abc-ats.iot.example.org' });
    expect(await registry.endpoint()).toBe('abc-ats.iot.example.org');
    expect(asked()).toEqual([['DescribeEndpointCommand', { endpointType: 'iot:Data-ATS' }]]);
  });

  it('lists the things of its own type, page by page', async () => {
    iot
      .on(ListThingsCommand, { thingTypeName: 'prod-compute-node', nextToken: 'next' })
      .resolves({ things: [{ thingName: 'prod:b' }] })
      .on(ListThingsCommand, { thingTypeName: 'prod-compute-node', nextToken: undefined })
      .resolves({ things: [{ thingName: 'prod:c' }, { thingName: 'prod:a' }], nextToken: 'next' });
    expect(await registry.things()).toEqual(['prod:a', 'prod:b', 'prod:c']);
  });

  it('refuses a thing of another type', async () => {
    iot.on(DescribeThingCommand).resolves({ thingName: 'prod:cmp1', thingTypeName: 'lamp' });
    await expect(registry.ensureThing('prod:cmp1')).rejects.toThrow(
      'Thing prod:cmp1 exists with type lamp instead of prod-compute-node.',
    );
  });

  it("does not treat AWS's refusal as absence", async () => {
    const refusal = Object.assign(new Error('no'), { name: 'UnauthorizedException' });
    iot.on(DescribeThingCommand).rejects(refusal);
    await expect(registry.ensureThing('prod:cmp1')).rejects.toThrow('no');
  });
});
