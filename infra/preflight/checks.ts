// The checks before a deployment. Each only reads, and names the command that mends its fault.

import { DescribeTableCommand, type TableDescription } from '@aws-sdk/client-dynamodb';
import { type Aws, CallRefused, elementOf } from '#core/clients/aws/call.ts';
import { givenPassword } from '#core/clients/aws/password.ts';
import { readSecret } from '#core/clients/aws/secrets.ts';
import { ServiceUnavailable } from '#core/clients/http.ts';
import { createKeystone } from '#core/clients/openstack/keystone/keystone.ts';
import { LoginRefused } from '#core/clients/openstack/keystone/own-token.ts';
import { CheckFailed, Undetermined } from '#core/command-line/checks.ts';
import { refuseSeveralRegions } from '#core/command-line/region-check.ts';
import { silentLog } from '#core/log.ts';
import { loadSettings } from '#core/settings.ts';
import { tableName, tables } from '#core/store/table/tables.ts';
import { type DeploymentSettings, passwordVariable } from '#infra/settings/settings.ts';
import { aliasCheck } from './alias-check.ts';
import type { Check } from './check.ts';
import { keyCheck } from './key-check.ts';
import { executionsCheck, requestsCheck } from './quota-checks.ts';

export const checks: readonly Check[] = [
  {
    name: 'AWS credentials',
    remedy: 'aws configure    # or: export AWS_PROFILE=<profile>',
    look: async ({ aws, facts }) => {
      const call = { Action: 'GetCallerIdentity', Version: '2011-06-15' };
      const identity = await aws.query('sts', call);
      facts.account = elementOf(identity, 'Account') ?? '';
      return `${elementOf(identity, 'Arn')}, account ${facts.account}`;
    },
  },
  {
    name: 'region',
    remedy: 'export AWS_REGION=<region with AWS IoT Core>',
    look: async ({ aws, settings }) => {
      for (const [setting, arn] of Object.entries(arnsOf(settings))) {
        const region = arn.split(':')[3];
        if (region === undefined || region === aws.region) continue;
        throw new CheckFailed(
          `${setting} is in ${region}, and the stack would be in ${aws.region}.`,
          `export AWS_REGION=${region}    # or set ${setting} to one of ${aws.region}`,
        );
      }
      await aws.get('iot', '/endpoint');
      return aws.region;
    },
  },
  {
    name: 'CDK resources',
    remedy: 'npx cdk bootstrap',
    look: async ({ aws, facts }) => {
      const status = await statusOf(aws, 'CDKToolkit');
      if (status?.endsWith('COMPLETE')) return `CDKToolkit is ${status}`;
      throw new CheckFailed(
        `Account ${facts.account} has no CDK resources in ${aws.region}.`,
        `npx cdk bootstrap aws://${facts.account}/${aws.region}`,
      );
    },
  },
  {
    name: 'the stack',
    remedy: 'Check the permission cloudformation:DescribeStacks.',
    look: async ({ aws, settings, facts, options }) => {
      const name = `cyborg-${settings.stage}`;
      const status = await statusOf(aws, name);
      facts.hasStack = status !== undefined;
      if (status === undefined) return `${name} does not exist yet`;
      if (/^ROLLBACK_|^(CREATE|DELETE|ROLLBACK)_FAILED$/.test(status)) {
        throw new CheckFailed(
          `${name} is ${status}: its first deployment or its removal has failed.`,
          `npx cdk destroy --force ${options}    # then deploy again`,
        );
      }
      if (!status.endsWith('_IN_PROGRESS')) return `${name} is ${status}`;
      throw new CheckFailed(
        `${name} is ${status}.`,
        `aws cloudformation wait stack-update-complete --stack-name ${name}`,
      );
    },
  },
  {
    name: 'names of tables',
    remedy: 'Check the permission dynamodb:DescribeTable.',
    look: async ({ aws, settings, facts, options }) => {
      if (facts.hasStack) return 'they belong to the stack';
      const taken: string[] = [];
      for (const { name } of tables) {
        const table = tableName(settings.stage, name);
        if (await describe(aws, table)) taken.push(table);
      }
      if (taken.length === 0) return 'free';
      if (!settings.keepData) {
        throw new CheckFailed(
          `These tables exist without a stack: ${taken.join(', ')}.`,
          `for t in ${taken.join(' ')}; do aws dynamodb delete-table --table-name $t; done`,
        );
      }
      throw new CheckFailed(
        `These tables exist without a stack: ${taken.join(', ')}; an earlier stack may have kept them.`,
        `npx cdk deploy --import-existing-resources ${options}    # takes them back with their rows; see docs/deploy.md`,
      );
    },
  },
  {
    name: 'protection of tables',
    remedy: 'Check the permission dynamodb:DescribeTable.',
    look: async ({ aws, settings, facts }) => {
      if (!facts.hasStack) return 'comes with the stack';
      if (!settings.keepData) return 'none: keepData is false';
      const open: string[] = [];
      for (const { name } of tables) {
        const table = await describe(aws, tableName(settings.stage, name));
        if (table?.DeletionProtectionEnabled === false) open.push(tableName(settings.stage, name));
      }
      if (open.length === 0) return 'no table can be deleted by one call';
      throw new CheckFailed(
        `The protection from deletion was switched off: ${open.join(', ')}. Only a deployment that changes functions switches it on again.`,
        `for t in ${open.join(' ')}; do aws dynamodb update-table --table-name $t --deletion-protection-enabled; done`,
      );
    },
  },
  aliasCheck,
  keyCheck,
  {
    name: 'secret of the password',
    remedy: 'Check passwordSecret, and the permission secretsmanager:GetSecretValue.',
    look: async ({ aws, settings, facts }) => {
      const { passwordSecret: id, passwordField: field } = settings;
      const create = `aws secretsmanager create-secret --region ${aws.region} --name ${id} --secret-string "$CYBORG_PASSWORD"`;
      try {
        const name = { id, ...(field && { field }) };
        facts.password = await readSecret(name, 'AWSCURRENT', aws.dynamoDb.config);
      } catch (error) {
        if (!(error instanceof ServiceUnavailable)) throw error;
        if (error.message.includes('ResourceNotFoundException')) {
          throw new CheckFailed(`Secret ${id} does not exist in ${aws.region}.`, create);
        }
        if (!/ has no text/.test(error.message)) throw error;
        const value = field ? `'{"${field}":"..."}'` : '"$CYBORG_PASSWORD"';
        throw new CheckFailed(
          `Secret ${id} has no text${field ? ` in the key ${field}` : ''}.`,
          `aws secretsmanager put-secret-value --secret-id ${id} --secret-string ${value}`,
        );
      }
      return id;
    },
  },
  {
    name: 'Keystone accepts the password',
    remedy: 'Check keystoneUrl, the user and its project.',
    look: async ({ settings, facts }) => {
      if (facts.password === undefined) throw new Undetermined('there is no password to try');
      const { keystone, endpoints } = loadSettings({
        ...settings.environment,
        [passwordVariable]: 'secret',
      });
      const passwords = givenPassword(facts.password);
      const client = createKeystone({
        settings: keystone,
        passwords,
        endpoints,
        log: silentLog,
        clock: Date.now,
      });
      try {
        await client.ownToken();
      } catch (error) {
        if (!(error instanceof ServiceUnavailable)) throw error;
        if (!(error instanceof LoginRefused)) {
          throw new Undetermined(`it does not answer here: ${error.message}`);
        }
        throw new CheckFailed(
          `Keystone at ${keystone.url} refuses ${keystone.username} with the secret's password.`,
          `aws secretsmanager put-secret-value --secret-id ${settings.passwordSecret} --secret-string "$CYBORG_PASSWORD"`,
        );
      }
      await refuseSeveralRegions(client);
      return `${keystone.username} at ${keystone.url}`;
    },
  },
  executionsCheck,
  requestsCheck,
  {
    name: 'certificate of the domain name',
    remedy: 'Check certificateArn, and the permission acm:DescribeCertificate.',
    look: async ({ aws, settings }) => {
      if (!settings.domain) return 'not needed: the API has the name that AWS assigns';
      const { name, certificateArn } = settings.domain;
      const request = `aws acm request-certificate --region ${aws.region} --domain-name ${name} --validation-method DNS`;
      const { Certificate } = await aws.json('acm', 'CertificateManager.DescribeCertificate', {
        CertificateArn: certificateArn,
      });
      const { Status, NotAfter, DomainName, SubjectAlternativeNames } = Certificate as Certificate;
      const names = [DomainName, ...(SubjectAlternativeNames ?? [])];
      if (!names.some((each) => covers(each, name))) {
        throw new CheckFailed(`The certificate is for ${names.join(', ')}, not ${name}.`, request);
      }
      if (NotAfter !== undefined && NotAfter * 1000 < Date.now()) {
        const day = new Date(NotAfter * 1000).toISOString().slice(0, 10);
        throw new CheckFailed(`The certificate has expired on ${day}.`, request);
      }
      if (Status !== 'ISSUED') {
        const wait = `aws acm wait certificate-validated --region ${aws.region} --certificate-arn ${certificateArn}`;
        throw new CheckFailed(
          `The certificate is ${Status}.`,
          Status === 'PENDING_VALIDATION' ? wait : request,
        );
      }
      return name;
    },
  },
];

/** Times are seconds since 1970. */
interface Certificate {
  readonly Status: string;
  readonly NotAfter?: number;
  readonly DomainName: string;
  readonly SubjectAlternativeNames?: readonly string[];
}

/** A wildcard stands for one label. */
function covers(pattern: string, name: string): boolean {
  return (
    pattern === name ||
    (pattern.startsWith('*.') && pattern.slice(1) === name.replace(/^[^.]+/, ''))
  );
}

function arnsOf(settings: DeploymentSettings): Record<string, string> {
  const { passwordSecret, passwordKeyArn, dataKeyArn, alarmTopicArn, domain } = settings;
  return {
    ...(passwordSecret.startsWith('arn:') && { passwordSecret }),
    ...(passwordKeyArn && { passwordKeyArn }),
    ...(dataKeyArn && { dataKeyArn }),
    ...(alarmTopicArn && { alarmTopicArn }),
    ...(domain && { certificateArn: domain.certificateArn }),
  };
}

/** Undefined if there is no such stack. */
async function statusOf(aws: Aws, StackName: string): Promise<string | undefined> {
  const call = { Action: 'DescribeStacks', Version: '2010-05-15', StackName };
  try {
    return elementOf(await aws.query('cloudformation', call), 'StackStatus');
  } catch (error) {
    if (error instanceof CallRefused && error.code === 'ValidationError') return undefined;
    throw error;
  }
}

async function describe(aws: Aws, TableName: string): Promise<TableDescription | undefined> {
  try {
    return (await aws.dynamoDb.send(new DescribeTableCommand({ TableName }))).Table;
  } catch (error) {
    if ((error as Error).name === 'ResourceNotFoundException') return undefined;
    throw error;
  }
}
