// The stack as CloudFormation gets it, with readable references: a table's ARN is
// `arn:aws:dynamodb:…:table/test-arqs`, whatever the CDK calls the resource.

import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { readSettings } from '#infra/settings/settings.ts';
import { CyborgStack } from '#infra/stack/cyborg-stack.ts';

export const stage = 'test';
const account = '000000000000';
const region = 'us-east-1';

/** The settings with which the stack has all of its alarms. */
export const withDomain = {
  domainName: 'accelerator.cloud.test',
  certificateArn: `arn:aws:acm:${region}:${account}:certificate/00000000-0000-4000-8000-000000000000`,
};

/** CloudFormation's JSON. It has no type, because the tests define what a resource must hold. */
type Json = ReturnType<typeof JSON.parse>;

export interface Resource {
  readonly id: string;
  readonly type: string;
  readonly properties: Json;
  /** What happens to the resource when it leaves the stack. */
  readonly deletionPolicy?: string;
  readonly dependsOn: readonly string[];
}

export interface Statement {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

interface Synthesized {
  readonly resources: readonly Resource[];
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
  readonly outputDescriptions: Readonly<Record<string, string>>;
  /** Lookups in the account that the template needs. */
  readonly missingContext: readonly unknown[];
  ofType(type: string): readonly Resource[];
  /** @param name of the function, without the stage */
  functionNamed(name: string): Resource;
  /** The statements of the function's role. */
  allowedTo(functionName: string): readonly Statement[];
  /** The statements of the role, whose logical id may begin with other text, such as `role/`. */
  statementsOf(role: string): readonly Statement[];
}

export function contextOfProject(): Record<string, unknown> {
  const file = new URL('../../cdk.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).context;
}

const synthesized = new Map<string, Synthesized>();

/** Once for each context: a synthesis takes a second. */
export function synthesize(context: Readonly<Record<string, unknown>> = {}): Synthesized {
  const key = JSON.stringify(context);
  const made = synthesized.get(key) ?? synthesizeWith(context);
  synthesized.set(key, made);
  return made;
}

/** Skips bundling: the contents of functions are irrelevant here. */
function synthesizeWith(context: Readonly<Record<string, unknown>>): Synthesized {
  const app = new App({
    context: { ...contextOfProject(), stage, 'aws:cdk:bundling-stacks': [], ...context },
  });
  new CyborgStack(app, 'cyborg', { settings: readSettings(app.node) });
  const assembly = app.synth();
  const { template, tags } = assembly.getStackByName('cyborg');
  const raw = template.Resources as Record<string, Json>;
  const resources = Object.entries(raw).map(([id, resource]) => ({
    id,
    type: resource.Type as string,
    properties: readable(raw, resource.Properties ?? {}),
    dependsOn: [resource.DependsOn ?? []].flat(),
    ...(resource.DeletionPolicy && { deletionPolicy: resource.DeletionPolicy as string }),
  }));
  const ofType = (type: string) => resources.filter((resource) => resource.type === type);
  const functionNamed = (name: string) => {
    const lambdaFunction = ofType('AWS::Lambda::Function').find(
      ({ properties }) => properties.FunctionName === `${stage}-${name}`,
    );
    if (!lambdaFunction) throw new Error(`Unknown function ${name}.`);
    return lambdaFunction;
  };
  const statementsOf = (role: string) => {
    const inline = ofType('AWS::IAM::Role')
      .filter(({ id }) => role.endsWith(id))
      .flatMap(({ properties }) => properties.Policies ?? []);
    const attached = ofType('AWS::IAM::Policy')
      .map(({ properties }) => properties)
      .filter(({ Roles }) => Roles.some((each: string) => role.endsWith(each)));
    return [...attached, ...inline].flatMap(({ PolicyDocument }) =>
      PolicyDocument.Statement.map(statementOf),
    );
  };
  const outputs = Object.entries(template.Outputs as Record<string, Json>).map(
    ([name, { Value: value }]) => [name, readable(raw, value)] as const,
  );
  return {
    resources,
    description: template.Description,
    tags,
    outputs: Object.fromEntries(outputs),
    outputDescriptions: Object.fromEntries(
      Object.entries(template.Outputs as Record<string, Json>).map(([name, { Description }]) => [
        name,
        Description ?? '',
      ]),
    ),
    missingContext: assembly.manifest.missing ?? [],
    ofType,
    functionNamed,
    statementsOf,
    allowedTo: (name) => statementsOf(functionNamed(name).properties.Role),
  };
}

export function statementOf(statement: Json): Statement {
  return { actions: [statement.Action].flat(), resources: [statement.Resource].flat() };
}

function readable(raw: Record<string, Json>, value: Json): Json {
  if (Array.isArray(value)) return value.map((each) => readable(raw, each));
  if (typeof value !== 'object' || value === null) return value;
  const { Ref: ref, 'Fn::GetAtt': attribute, 'Fn::Join': join } = value;
  if (ref !== undefined) return reference(raw, ref);
  if (attribute !== undefined) return attributeOf(raw, attribute[0], attribute[1]);
  if (join !== undefined) return readable(raw, join[1]).join(join[0]);
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, readable(raw, each)]),
  );
}

function reference(raw: Record<string, Json>, id: string): string {
  const pseudo: Record<string, string> = {
    'AWS::Partition': 'aws',
    'AWS::Region': region,
    'AWS::AccountId': account,
    'AWS::URLSuffix': 'amazonaws.com',
  };
  if (pseudo[id]) return pseudo[id];
  const { Type: type, Properties: properties = {} } = raw[id] ?? {};
  if (type === 'AWS::SQS::Queue') return `https://sqs/${account}/${properties.QueueName}`;
  if (type === 'AWS::Lambda::Alias') {
    const { FunctionName: of, Name: name } = readable(raw, properties);
    return `arn:aws:lambda:${region}:${account}:function:${of}:${name}`;
  }
  return nameOf(properties) ?? id;
}

function attributeOf(raw: Record<string, Json>, id: string, attribute: string): string {
  const { Type: type, Properties: properties = {} } = raw[id] ?? {};
  const [service, kind] = arnParts[type] ?? [type, ''];
  const name = nameOf(properties) ?? id;
  if (attribute === 'Arn') return `arn:aws:${service}:${region}:${account}:${kind}${name}`;
  if (attribute === 'StreamArn') return `stream of ${name}`;
  return `${id}.${attribute}`;
}

const arnParts: Readonly<Record<string, readonly [service: string, kind: string]>> = {
  'AWS::DynamoDB::GlobalTable': ['dynamodb', 'table/'],
  'AWS::SQS::Queue': ['sqs', ''],
  'AWS::Lambda::Function': ['lambda', 'function:'],
  'AWS::IAM::Role': ['iam', 'role/'],
  'AWS::Logs::LogGroup': ['logs', 'log-group:'],
};

function nameOf(properties: Json): string | undefined {
  return (
    properties.TableName ??
    properties.QueueName ??
    properties.FunctionName ??
    properties.LogGroupName
  );
}
