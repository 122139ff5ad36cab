// Faults that no single setting shows: settings that exclude each other, settings that need
// another one, and unknown names. Each fault is a sentence that begins with the setting.

/** The given settings, as text; missing ones are undefined. */
export type Given = Readonly<Record<string, string | undefined>>;

interface Rule {
  readonly isBroken: (given: Given) => boolean;
  readonly fault: string;
}

/** An application credential includes its user and project. */
const ofUser = ['username', 'projectName', 'userDomainName', 'projectDomainName'];

const rules: readonly Rule[] = [
  ...ofUser.map((setting) => ({
    isBroken: (given: Given) => isGiven(given, 'applicationCredentialId', setting),
    fault: `applicationCredentialId: an application credential includes its user and project; leave out ${setting}`,
  })),
  lacks('domainName', 'certificateArn', 'a domain needs a certificate'),
  lacks('certificateArn', 'domainName', 'a certificate needs a domain'),
  lacks('truststoreUri', 'domainName', 'client certificates need a domain name'),
  lacks('truststoreVersion', 'truststoreUri', 'a version needs a truststore'),
  lacks('subnetIds', 'securityGroupIds', 'functions in subnets need a security group'),
  lacks('securityGroupIds', 'subnetIds', 'a security group needs subnets'),
  {
    isBroken: (given) => given.requireServiceToken !== 'false' && isEmpty(given.serviceTokenRoles),
    fault: 'serviceTokenRoles: must not be empty, or every service token and bind is refused',
  },
  {
    isBroken: (given) => isEmpty(given.attachTypes),
    fault: 'attachTypes: must not be empty, or no device can be attached',
  },
  {
    isBroken: (given) =>
      given.console === 'false' && (given.reservedConcurrency ?? '').includes('"console"'),
    fault: 'reservedConcurrency: names the function console, which the setting console leaves out',
  },
  {
    isBroken: (given) =>
      given.novaRequestsPerSecond !== undefined &&
      Number(given.otherRequestsPerSecond ?? 0) > Number(given.novaRequestsPerSecond),
    fault: 'otherRequestsPerSecond: must not exceed novaRequestsPerSecond',
  },
];

export function contradictionsIn(given: Given): string[] {
  return rules.filter(({ isBroken }) => isBroken(given)).map(({ fault }) => fault);
}

/**
 * Unknown names in the context that look like ours: otherwise `keepdata=false` would silently
 * keep the data. The CDK's own names have a hyphen, a colon or a slash.
 */
export function unknownSettings(names: readonly string[], known: readonly string[]): string[] {
  return names
    .filter((name) => /^[a-z]+$/i.test(name) && !known.includes(name))
    .map((name) => {
      const meant = known.find((each) => each.toLowerCase() === name.toLowerCase());
      return `${name}: unknown setting${meant ? `; did you mean ${meant}?` : ''}`;
    });
}

function lacks(setting: string, other: string, because: string): Rule {
  return {
    isBroken: (given) => isGiven(given, setting) && !isGiven(given, other),
    fault: `${setting}: ${because}; give ${other}, too`,
  };
}

function isGiven(given: Given, ...settings: readonly string[]): boolean {
  return settings.every((setting) => given[setting] !== undefined);
}

/** Given but empty: `[]` in cdk.json. */
function isEmpty(text: string | undefined): boolean {
  return text !== undefined && listOf(text).length === 0;
}

function listOf(text = ''): string[] {
  return text.split(',').filter((part) => part !== '');
}
