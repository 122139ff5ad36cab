import { App, Stack } from 'aws-cdk-lib';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '#core/settings.ts';
import { DeploymentInvalid, parseSettings, readSettings } from '#infra/settings/settings.ts';
import { CyborgStack } from '#infra/stack/cyborg-stack.ts';

const least = {
  stage: 'test',
  keystoneUrl: 'https://keystone.cloud.test/v3',
  passwordSecret: 'cyborg/password',
};

function read(context: Readonly<Record<string, unknown>>) {
  return readSettings(new App({ context: { ...context } }).node);
}

describe('the deployment', () => {
  it('needs only a stage, a Keystone and a secret', () => {
    const { stage, keepData, isExample, environment } = read(least);
    expect([stage, keepData, isExample]).toEqual(['test', true, false]);
    expect(loadSettings({ ...environment, CYBORG_OS_PASSWORD: '' })).toMatchObject({
      stage: 'test',
      defaultMicroversion: '2.0',
      keystone: { url: least.keystoneUrl },
    });
  });

  it.each([
    ['stage', { stage: 'Not a stage' }],
    ['stage', { stage: undefined }],
    ['keystoneUrl', { keystoneUrl: undefined }],
    ['keystoneUrl', { keystoneUrl: 'keystone' }],
    ['passwordSecret', { passwordSecret: undefined }],
    ['passwordSecret', { passwordSecret: 'pass word!' }],
    ['defaultMicroversion', { defaultMicroversion: '3.0' }],
    ['attachTypes', { attachTypes: 'PCI,USB' }],
    ['eventStyle', { eventStyle: 'loud' }],
    ['policy', { policy: { 'cyborg:device:steal': ['reader'] } }],
    ['policy', { policy: 'reader' }],
    ['tokenCacheSeconds', { tokenCacheSeconds: { admin: 301 } }],
    ['tokenCacheSeconds', { tokenCacheSeconds: '60' }],
    ['bindDeadlineSeconds', { bindDeadlineSeconds: 900 }],
    ['logRetentionDays', { logRetentionDays: 8 }],
    ['alarmTopicArn', { alarmTopicArn: 'pager' }],
    ['passwordKeyArn', { passwordKeyArn: 'alias/mine' }],
    ['dataKeyArn', { dataKeyArn: 'alias/mine' }],
    ['alarmEmail', { alarmEmail: 'no-address' }],
    [
      'alarmEmail',
      { alarmEmail: 'a@b.org', alarmTopicArn: 'arn:aws:sns:us-east-1:111122223333:pager' },
    ],
    ['alarmActions', { alarmActions: 'loud' }],
    ['runbooks', { runbooks: 'http://wiki.cloud.test/cyborg' }],
    ['runbooks', { runbooks: 'https://wiki.cloud.test/cyborg#top' }],
    ['runbooks', { runbooks: `https://wiki.cloud.test/${'a'.repeat(105)}` }],
    ['logLevel', { logLevel: 'LOUD' }],
    ['keepData', { keepData: 'perhaps' }],
    ['console', { console: 'perhaps' }],
  ])('names %s in its refusal of %o', (name, given) => {
    expect(() => read({ ...least, ...given })).toThrow(DeploymentInvalid);
    expect(() => read({ ...least, ...given })).toThrow(new RegExp(`\\b${name}\\b.*cdk\\.json`));
  });

  const certificateArn = 'arn:aws:acm:us-east-1:000000000000:certificate/5c1a1c1e-7a3b';

  it.each([
    ['domainName', { domainName: 'https://accelerator.cloud.test', certificateArn }],
    ['certificateArn', { domainName: 'accelerator.cloud.test', certificateArn: 'mine' }],
    ['truststoreUri', { domainName: 'a.cloud.test', certificateArn, truststoreUri: 'https://x/y' }],
    ['truststoreUri', { domainName: 'a.cloud.test', certificateArn, truststoreUri: 's3://bucket' }],
    ['concurrencyQuota', { concurrencyQuota: 'enough' }],
    ['subnetIds', { subnetIds: 'mine', securityGroupIds: 'sg-01234567' }],
    ['securityGroupIds', { subnetIds: 'subnet-01234567', securityGroupIds: [] }],
    ['novaRequestsPerSecond', { novaRequestsPerSecond: 0 }],
    ['otherRequestsPerSecond', { otherRequestsPerSecond: 'few' }],
  ])('names %s, too, in its refusal of %o', (name, given) => {
    expect(() => read({ ...least, ...given })).toThrow(new RegExp(`\\b${name}[.:].*cdk\\.json`));
  });

  it.each([
    ['domainName: .*; give certificateArn, too', { domainName: 'accelerator.cloud.test' }],
    ['certificateArn: .*; give domainName, too', { certificateArn }],
    ['truststoreUri: .*; give domainName, too', { truststoreUri: 's3://authorities/all.pem' }],
    ['truststoreVersion: .*; give truststoreUri, too', { truststoreVersion: '1' }],
    ['subnetIds: .*; give securityGroupIds, too', { subnetIds: 'subnet-01234567' }],
    ['securityGroupIds: .*; give subnetIds, too', { securityGroupIds: 'sg-01234567' }],
    ['leave out username', { applicationCredentialId: 'a', username: 'cyborg' }],
    ['leave out projectName', { applicationCredentialId: 'a', projectName: 'service' }],
    ['leave out userDomainName', { applicationCredentialId: 'a', userDomainName: 'Default' }],
    ['leave out projectDomainName', { applicationCredentialId: 'a', projectDomainName: 'D' }],
    ['serviceTokenRoles: must not be empty', { serviceTokenRoles: [] }],
    ['attachTypes: must not be empty', { attachTypes: [] }],
    [
      'otherRequestsPerSecond: must not exceed',
      { novaRequestsPerSecond: 10, otherRequestsPerSecond: 20 },
    ],
    [
      'reservedConcurrency: names the function console',
      { console: false, reservedConcurrency: { console: 5 } },
    ],
    ['keepdata: unknown setting; did you mean keepData', { keepdata: 'false' }],
    ['keep_data: unknown setting; did you mean keepData', { keep_data: 'false' }],
    ['keep-data: unknown setting; did you mean keepData', { 'keep-data': 'false' }],
    ['Keystone_Url: .*; did you mean keystoneUrl', { Keystone_Url: 'https://k.test' }],
    ['keystone.url: .*; did you mean keystoneUrl', { 'keystone.url': 'https://k.test' }],
    ['default_microversion: .* defaultMicroversion', { default_microversion: '2.3' }],
    ['attach-types: .*; did you mean attachTypes', { 'attach-types': 'PCI' }],
    ['REGION_NAME: .*; did you mean regionName', { REGION_NAME: 'RegionTwo' }],
    ['region1: unknown setting', { region1: 'RegionTwo' }],
    ['attachType: .*; did you mean attachTypes', { attachType: 'PCI' }],
    ...[
      'keystone.example:5000',
      'ftp://keystone.example',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'https:///v3',
      'https://user:word@keystone.example',
      'https://keystone.example/v3?x=1',
      'keystone.example/v3',
      '//keystone.example',
    ].flatMap((url) =>
      ['keystoneUrl', 'keystonePublicUrl', 'publicEndpoint', 'placementUrl', 'novaUrl'].map(
        (name): [string, Record<string, string>] => [
          `${name}: must be an http or https URL`,
          { [name]: url },
        ],
      ),
    ),
    ['keystone: unknown setting', { keystone: 'https://keystone.cloud.test' }],
  ])('finds a contradiction: %s', (fault, given) => {
    expect(() => read({ ...least, ...given })).toThrow(DeploymentInvalid);
    expect(() => read({ ...least, ...given })).toThrow(new RegExp(`\\b${fault}.*cdk\\.json`));
  });

  it('has no fault in a valid combination', () => {
    const together = [
      { applicationCredentialId: 'a', regionName: 'one' },
      { domainName: 'accelerator.cloud.test', certificateArn },
      { domainName: 'a.cloud.test', certificateArn, truststoreUri: 's3://authorities/all.pem' },
      { subnetIds: ['subnet-01234567', 'subnet-01234568'], securityGroupIds: 'sg-01234567' },
      { attachTypes: 'PCI,MDEV' },
      { requireServiceToken: 'false', serviceTokenRoles: [] },
      { 'aws:cdk:bundling-stacks': ['**'], 'vpc-provider:account=1:region=r': {} },
      { keystoneUrl: 'HTTP://10.0.0.1:5000/v3', glanceUrl: 'https://[::1]:9292/image/' },
      { 'cli-telemetry': false, '@aws-cdk/core:checkSecretUsage': true },
    ];
    for (const given of together) expect(read({ ...least, ...given }).stage).toBe('test');
  });

  it('reports all faults at once', () => {
    expect(() => read({})).toThrow(/stage.*keystoneUrl.*passwordSecret/);
  });

  it('refuses a password in plain text', () => {
    expect(() => read({ ...least, password: 'secret' })).toThrow(/Secrets Manager/);
  });

  it('reads settings as JSON and as the command line', () => {
    const asJson = read({ ...least, attachTypes: ['PCI', 'MDEV'], requireServiceToken: false });
    const asText = read({ ...least, attachTypes: 'PCI,MDEV', requireServiceToken: 'false' });
    expect(asJson.environment).toEqual(asText.environment);
    expect(loadSettings({ ...asJson.environment, CYBORG_OS_PASSWORD: '' })).toMatchObject({
      attachTypes: ['PCI', 'MDEV'],
      requireServiceToken: false,
    });
  });

  it('refers to one key of a secret that holds several', () => {
    const { passwordSecret, passwordField } = read({ ...least, passwordField: 'password' });
    expect([passwordSecret, passwordField]).toEqual(['cyborg/password', 'password']);
  });

  it('reads the Keystone of the example', () => {
    expect(read({ ...least, keystoneUrl: 'https://keystone.example.org/v3' }).isExample).toBe(true);
  });
});

describe('settings given in code', () => {
  it('are those of the context, with values of their own types', () => {
    const given = {
      attachTypes: ['PCI', 'MDEV'],
      policy: { 'cyborg:device:get_all': ['reader'] },
      tokenCacheSeconds: { admin: 120 },
      requireServiceToken: false,
      console: false,
      logRetentionDays: 30,
      reservedConcurrency: { sweep: 2 },
    } as const;
    expect(parseSettings({ ...least, ...given })).toEqual(read({ ...least, ...given }));
  });

  it('are refused with the same faults, and the place where an app sets them', () => {
    const wrong = { ...least, logRetentionDays: 8, domainName: 'a.cloud.test', keepdata: 'false' };
    const [here, there] = [() => parseSettings(wrong), () => read(wrong)].map((parse) => {
      try {
        parse();
      } catch (error) {
        if (error instanceof DeploymentInvalid) return error.message.split(' Set them in ');
      }
      throw new Error('The settings are not refused.');
    });
    expect(here?.[0]).toMatch(/logRetentionDays: .*domainName: .*did you mean keepData/);
    expect(here?.[0]).toBe(there?.[0]);
    expect(here?.[1]).toBe('the property settings of CyborgStack.');
    const secret = { password: 'secret' };
    expect(() => parseSettings({ ...least, ...secret })).toThrow(/Secrets Manager/);
  });

  it('may refer to resources of other stacks, where an id or an ARN is asked for', () => {
    const { topicArn } = new Topic(new Stack(new App(), 'platform'), 'Pager');
    expect(parseSettings({ ...least, alarmTopicArn: topicArn }).alarmTopicArn).toBe(topicArn);
    expect(() => parseSettings({ ...least, alarmEmail: topicArn })).toThrow(/alarmEmail: /);
  });

  it('let functions read a secret of another stack, and no other', () => {
    const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
    const { secretArn: passwordSecret } = new Secret(new Stack(app, 'platform'), 'Password');
    const { stackName } = new CyborgStack(app, 'cyborg', {
      settings: { ...least, passwordSecret },
    });
    const { template } = app.synth().getStackByName(stackName);
    const reading = [
      ...JSON.stringify(template).matchAll(
        /"secretsmanager:GetSecretValue","Effect":"Allow","Resource":(\{.*?\}|".*?")/g,
      ),
    ].map(([, resource]) => resource);
    expect(reading.length).toBeGreaterThan(5);
    expect(new Set(reading)).toEqual(
      new Set([expect.stringMatching(/^\{"Fn::ImportValue":"platform:[^"]*Password[^"]*"\}$/)]),
    );
  });
});
