// What no setting says by itself: two that exclude each other, one that lacks its other half, and a
// name that is nobody's. Each is a sentence that begins with the setting.

/** Settings as given, in text; those that were not are missing. */
export type Given = Readonly<Record<string, string | undefined>>;

interface Rule {
  readonly isBroken: (given: Given) => boolean;
  readonly fault: string;
}

/** An application credential has its user and project in itself. */
const ofUser = ['username', 'projectName', 'userDomainName', 'projectDomainName'];

const rules: readonly Rule[] = [
  ...ofUser.map((setting) => ({
    isBroken: (given: Given) => isGiven(given, 'applicationCredentialId', setting),
    fault: `applicationCredentialId: an application credential has a user and a project of its own; leave out ${setting}`,
  })),
  lacks('domainName', 'certificateArn', 'a domain is served with a certificate'),
  lacks('certificateArn', 'domainName', 'a certificate is for a domain'),
  lacks('truststoreUri', 'domainName', 'clients show certificates under a domain name only'),
  lacks('truststoreVersion', 'truststoreUri', 'a version is of a truststore'),
  lacks('subnetIds', 'securityGroupIds', 'functions in subnets need a security group'),
  lacks('securityGroupIds', 'subnetIds', 'a security group is for functions in subnets'),
  {
    isBroken: (given) =>
      given.mdevOwner !== undefined && !listOf(given.attachTypes).includes('MDEV'),
    fault: 'mdevOwner: nobody makes mdevs unless attachTypes has MDEV',
  },
  {
    isBroken: (given) => given.requireServiceToken !== 'false' && isEmpty(given.serviceTokenRoles),
    fault: 'serviceTokenRoles: without a role no service token is accepted, and no bind either',
  },
  {
    isBroken: (given) => isEmpty(given.attachTypes),
    fault: 'attachTypes: without a type no device can be attached',
  },
  {
    isBroken: (given) =>
      given.novaRequestsPerSecond !== undefined &&
      Number(given.otherRequestsPerSecond ?? 0) > Number(given.novaRequestsPerSecond),
    fault: 'otherRequestsPerSecond: other routes may not have more than novaRequestsPerSecond',
  },
];

export function contradictionsIn(given: Given): string[] {
  return rules.filter(({ isBroken }) => isBroken(given)).map(({ fault }) => fault);
}

/**
 * Names in the context that look like ours and are not: `keepdata=false` would be no error otherwise,
 * and keep the data. The CDK's own have a hyphen, a colon or a slash.
 */
export function unknownSettings(names: readonly string[], known: readonly string[]): string[] {
  return names
    .filter((name) => /^[a-z]+$/i.test(name) && !known.includes(name))
    .map((name) => {
      const meant = known.find((each) => each.toLowerCase() === name.toLowerCase());
      return `${name}: there is no such setting${meant ? `, but ${meant}` : ''}`;
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

/** Given, and empty: `[]` in cdk.json. */
function isEmpty(text: string | undefined): boolean {
  return text !== undefined && listOf(text).length === 0;
}

function listOf(text = ''): string[] {
  return text.split(',').filter((part) => part !== '');
}
