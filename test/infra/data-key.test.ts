// The operator's own key in KMS: what is under it, who may use it, and in which order an update
// changes a live stage.

import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import { contextOfProject, synthesize } from '#infra/privileges/synthesized.ts';
import { readSettings } from '#infra/settings/settings.ts';
import { CyborgStack } from '#infra/stack/cyborg-stack.ts';

const dataKeyArn = 'arn:aws:kms:us-east-1:000000000000:key/5c1a1c1e-7a3b-4000-8000-000000000001';
const stack = synthesize({ dataKeyArn });
const propertiesOf = (type: string) => stack.ofType(type).map(({ properties }) => properties);
const roles = stack.ofType('AWS::IAM::Role');
const byKey = (id: string) =>
  stack
    .statementsOf(id)
    .filter(({ resources }) => resources.includes(dataKeyArn))
    .flatMap(({ actions }) => actions);

describe('under the key of dataKeyArn', () => {
  it('are all tables', () => {
    const tables = propertiesOf('AWS::DynamoDB::GlobalTable');
    expect(tables).toHaveLength(5);
    for (const { SSESpecification: type, Replicas: replicas } of tables) {
      expect(type).toEqual({ SSEEnabled: true, SSEType: 'KMS' });
      expect(replicas).toHaveLength(1);
      expect(replicas[0].SSESpecification).toEqual({ KMSMasterKeyId: dataKeyArn });
    }
  });

  it('are all queues, and those of dead letters', () => {
    const queues = propertiesOf('AWS::SQS::Queue');
    expect(queues.length).toBeGreaterThan(15);
    for (const queue of queues) {
      expect(queue.KmsMasterKeyId).toBe(dataKeyArn);
      expect(queue).not.toHaveProperty('SqsManagedSseEnabled');
    }
  });

  it('are all logs', () => {
    const logs = propertiesOf('AWS::Logs::LogGroup');
    expect(logs.length).toBeGreaterThan(20);
    for (const log of logs) expect(log.KmsKeyId).toBe(dataKeyArn);
  });

  it('is the bucket, with a bucket key', () => {
    const [rule] = propertiesOf('AWS::S3::Bucket').flatMap(
      ({ BucketEncryption }) => BucketEncryption.ServerSideEncryptionConfiguration,
    );
    expect(rule).toEqual({
      BucketKeyEnabled: true,
      ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: dataKeyArn },
    });
  });

  it('is nothing without the setting, and the template has no key', () => {
    const text = JSON.stringify(synthesize().resources);
    expect(text).not.toMatch(/kms/i);
    expect(text).toContain('"SqsManagedSseEnabled":true');
  });
});

describe('the key may be used by', () => {
  it('the rules of IoT, which send to queues', () => {
    const ofRules = roles.filter(({ properties }) =>
      JSON.stringify(properties.AssumeRolePolicyDocument).includes('iot.amazonaws.com'),
    );
    expect(ofRules).toHaveLength(propertiesOf('AWS::IoT::TopicRule').length);
    for (const { id } of ofRules) expect(byKey(id)).toEqual(['kms:Decrypt', 'kms:GenerateDataKey']);
  });

  it('the role that signs URLs of images, to read', () => {
    const [reader] = roles.filter(({ id }) => id.includes('ImageReader'));
    expect(byKey(reader?.id ?? '')).toEqual(['kms:Decrypt']);
  });

  it('no role that reads no data', () => {
    const others = roles.filter(({ id }) => byKey(id).length === 0).map(({ id }) => id);
    expect(others.map((id) => id.replace(/[0-9A-F]{8}$/, '')).sort()).toEqual([
      'ApiConsoleRole',
      'ApiVersionsRole',
      'ConsumersSweepScheduleRole',
      'HostsEnableJobEventsRole',
      'ReleasesReleaseCheckRole',
      'ReleasesRole',
    ]);
  });
});

describe('an update that gives a stage a key', () => {
  it('changes tables, queues and the bucket after the roles may use the key', () => {
    const users = roles.filter(({ id }) => byKey(id).length > 0);
    for (const { id, properties } of users) expect(properties.Policies, id).toBeDefined();
    const ids = users.map(({ id }) => id);
    const types = ['AWS::DynamoDB::GlobalTable', 'AWS::SQS::Queue', 'AWS::S3::Bucket'];
    for (const { id, dependsOn } of types.flatMap(stack.ofType)) {
      expect(dependsOn, id).toEqual(expect.arrayContaining(ids));
    }
  });

  it('can be ordered: no resource waits for itself', () => {
    const context = { ...contextOfProject(), 'aws:cdk:bundling-stacks': [], dataKeyArn };
    const app = new App({ context });
    new CyborgStack(app, 'cyborg', { settings: readSettings(app.node) });
    const template = app.synth().getStackByName('cyborg').template;
    const resources = template.Resources as Record<string, unknown>;
    const ended = new Set<string>();
    const visit = (id: string, path: readonly string[]) => {
      expect(path).not.toContain(id);
      if (ended.has(id)) return;
      for (const other of referencesIn(resources[id])) {
        if (other in resources) visit(other, [...path, id]);
      }
      ended.add(id);
    };
    for (const id of Object.keys(resources)) visit(id, []);
    expect(ended.size).toBeGreaterThan(100);
  });
});

it("docs/encryption.md has a policy of the key that lets CloudWatch write all of the stack's logs", () => {
  const guide = readFileSync(new URL('../../docs/encryption.md', import.meta.url), 'utf8');
  const [, shown = ''] = /```json\n(\{\n {2}"Version"[^`]*)```/.exec(guide) ?? [];
  const { Statement: statements } = JSON.parse(shown);
  const ofLogs = statements.find(
    (each: { Principal: { Service?: string } }) => each.Principal.Service,
  );
  const patterns: string[] = ofLogs.Condition.ArnLike['kms:EncryptionContext:aws:logs:arn'];
  for (const { LogGroupName: name } of propertiesOf('AWS::Logs::LogGroup')) {
    const arn = `arn:aws:logs:eu-west-1:111122223333:log-group:${name.replace('/test-', '/prod-')}`;
    const isAllowed = patterns.some((pattern) =>
      pattern.endsWith('*') ? arn.startsWith(pattern.slice(0, -1)) : arn === pattern,
    );
    expect(isAllowed, arn).toBe(true);
  }
});

function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    if (name === 'Ref' || name === 'DependsOn') return [each].flat() as string[];
    return name === 'Fn::GetAtt' ? [each[0] as string] : referencesIn(each);
  });
}
