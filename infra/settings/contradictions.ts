// Faults that no single setting shows: settings that exclude each other, settings that need
// another one, and unknown names. Each fault is a sentence that begins with the setting.

import { findNearest } from '#core/command-line/nearest.ts';

/** The given settings, as text; missing ones are undefined. */
type SettingTexts = Readonly<Record<string, string | undefined>>;

interface Rule {
  readonly isBroken: (settings: SettingTexts) => boolean;
  readonly fault: string;
}

/** An application credential includes its user and project. */
const ofUser = ['username', 'projectName', 'userDomainName', 'projectDomainName'];

const rules: readonly Rule[] = [
  ...ofUser.map((setting) => ({
    isBroken: (settings: SettingTexts) => isGiven(settings, 'applicationCredentialId', setting),
    fault: `applicationCredentialId: an application credential includes its user and project; leave out ${setting}`,
  })),
  lacks('domainName', 'certificateArn', 'a domain needs a certificate'),
  lacks('certificateArn', 'domainName', 'a certificate needs a domain'),
  lacks('truststoreUri', 'domainName', 'client certificates need a domain name'),
  lacks('truststoreVersion', 'truststoreUri', 'a version needs a truststore'),
  lacks('subnetIds', 'securityGroupIds', 'functions in subnets need a security group'),
  lacks('securityGroupIds', 'subnetIds', 'a security group needs subnets'),
  {
    isBroken: (settings) =>
      settings.requireServiceToken !== 'false' && isEmpty(settings.serviceTokenRoles),
    fault: 'serviceTokenRoles: must not be empty, or every service token and bind is refused',
  },
  {
    isBroken: (settings) => isGiven(settings, 'alarmTopicArn', 'alarmEmail'),
    fault:
      'alarmEmail: excluded by alarmTopicArn, whose topic has its own subscriptions; leave out one of the two',
  },
  {
    isBroken: (settings) => isEmpty(settings.attachTypes),
    fault: 'attachTypes: must not be empty, or no device can be attached',
  },
  {
    isBroken: (settings) =>
      settings.console === 'false' && (settings.reservedConcurrency ?? '').includes('"console"'),
    fault: 'reservedConcurrency: names the function console, which the setting console leaves out',
  },
  {
    isBroken: (settings) =>
      settings.novaRequestsPerSecond !== undefined &&
      Number(settings.otherRequestsPerSecond ?? 0) > Number(settings.novaRequestsPerSecond),
    fault: 'otherRequestsPerSecond: must not exceed novaRequestsPerSecond',
  },
];

export function contradictionsIn(settings: SettingTexts): string[] {
  return rules.filter(({ isBroken }) => isBroken(settings)).map(({ fault }) => fault);
}

/** Names of the CDK without a colon, a slash or an @, which its other names have. */
const namesOfCdk: readonly string[] = [
  'cli-telemetry',
  'acknowledged-issue-numbers',
  'cli-acknowledged-notices',
];

/**
 * Unknown names in the context that may be meant as ours: otherwise `keepdata=false` would
 * silently keep the data, and so would `keep_data` and `keep-data`.
 */
export function unknownSettings(names: readonly string[], allowed: readonly string[]): string[] {
  return names
    .filter((name) => !/[:/@]/.test(name) && ![...allowed, ...namesOfCdk].includes(name))
    .map((name) => {
      const meant = findNearest(name, allowed);
      return `${name}: unknown setting${meant ? `; did you mean ${meant}?` : ''}`;
    });
}

function lacks(setting: string, other: string, because: string): Rule {
  return {
    isBroken: (settings) => isGiven(settings, setting) && !isGiven(settings, other),
    fault: `${setting}: ${because}; give ${other}, too`,
  };
}

function isGiven(texts: SettingTexts, ...settings: readonly string[]): boolean {
  return settings.every((setting) => texts[setting] !== undefined);
}

/** Given but empty: `[]` in cdk.json. */
function isEmpty(text: string | undefined): boolean {
  return text !== undefined && listOf(text).length === 0;
}

function listOf(text = ''): string[] {
  return text.split(',').filter((part) => part !== '');
}
