// What the emulator's CloudFormation and services lack, by name and with the reason: each changes
// the synthesised template, never the product.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Resource {
  readonly Type: string;
  Properties: Record<string, unknown>;
  DependsOn?: string | string[];
  UpdatePolicy?: unknown;
}

export interface Template {
  readonly Resources: Record<string, Resource>;
}

interface Adaptation {
  readonly reason: string;
  /** Returns whether it has changed the resource, or takes it out. */
  readonly change: (resource: Resource) => 'changed' | 'take out' | undefined;
}

/** A rule asks for things of its stage; in the emulator there is one stage. */
const ofStage = / WHERE startswith\(.*\)$/;

const adaptations: readonly Adaptation[] = [
  {
    reason: 'its CloudFormation lacks metric math: these alarms are taken out',
    change: ({ Type, Properties }) =>
      Type === 'AWS::CloudWatch::Alarm' && 'Metrics' in Properties ? 'take out' : undefined,
  },
  {
    reason: 'its IoT SQL lacks startswith(): the rules match every stage',
    change: ({ Type, Properties }) => {
      if (Type !== 'AWS::IoT::TopicRule') return undefined;
      const payload = Properties.TopicRulePayload as { Sql: string };
      if (!ofStage.test(payload.Sql)) return undefined;
      payload.Sql = payload.Sql.replace(ofStage, '');
      return 'changed';
    },
  },
  {
    reason: 'it lacks CodeDeploy: releases are shifted by the suite, or all at once',
    change: (resource) => {
      if (resource.Type.startsWith('AWS::CodeDeploy::')) return 'take out';
      if (resource.Type === 'AWS::Lambda::Alias') {
        delete resource.UpdatePolicy;
        return 'changed';
      }
      if (resource.Type !== 'AWS::IAM::Policy') return undefined;
      const document = resource.Properties.PolicyDocument as { Statement: { Action: unknown }[] };
      const others = document.Statement.filter(
        ({ Action }) => !JSON.stringify(Action).includes('codedeploy:'),
      );
      if (others.length === document.Statement.length) return undefined;
      document.Statement = others;
      return 'changed';
    },
  },
];

/** Adapts the template of the assembly. Returns a line for each adaptation, with what it met. */
export function adapt(
  assembly: string,
  stackName: string,
  more: (template: Template) => void = () => {},
  { isEarlier = false } = {},
): string[] {
  const file = join(assembly, `${stackName}.template.json`);
  const template = JSON.parse(readFileSync(file, 'utf8')) as Template;
  const all = Object.entries(template.Resources).length;
  const lines = adaptations.map(({ reason, change }) => {
    const met = Object.entries(template.Resources).filter(([id, resource]) => {
      const outcome = change(resource);
      if (outcome === 'take out') delete template.Resources[id];
      return outcome !== undefined;
    });
    forgetDependencies(template);
    // An earlier release may lack what the adaptation is about.
    if (met.length === 0 && !isEarlier)
      throw new Error(`No resource meets the adaptation "${reason}".`);
    return `adapted ${met.length} of ${all} resources: ${reason}`;
  });
  more(template);
  write(assembly, stackName, JSON.stringify(template));
  return lines;
}

/** Resources that are taken out are no more waited for. */
function forgetDependencies({ Resources }: Template): void {
  for (const resource of Object.values(Resources)) {
    if (resource.DependsOn === undefined) continue;
    resource.DependsOn = [resource.DependsOn].flat().filter((id) => id in Resources);
  }
}

/** The CDK publishes a template once for each digest, so the adapted one has its own. */
function write(assembly: string, stackName: string, text: string): void {
  writeFileSync(join(assembly, `${stackName}.template.json`), text);
  const manifest = join(assembly, 'manifest.json');
  const before = /([0-9a-f]{64})\.json/.exec(readFileSync(manifest, 'utf8'))?.[1] ?? '';
  const digest = createHash('sha256').update(text).digest('hex');
  for (const file of [manifest, join(assembly, `${stackName}.assets.json`)]) {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(before, digest));
  }
}
