import { describe, expect, it } from 'vitest';
import { access, type FunctionName } from '#infra/access.ts';
import { stage, synthesize } from '#infra/privileges/synthesized.ts';
import { interfaceActions } from '#infra/settings/network.ts';

const subnetIds = ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'];
const securityGroupIds = ['sg-0123456789abcdef0'];
const names = Object.keys(access) as FunctionName[];

describe('a deployment with subnets', () => {
  const stack = synthesize({ subnetIds: subnetIds.join(','), securityGroupIds });

  const reachesOpenStack = (name: FunctionName) =>
    access[name].callsOpenStack || access[name].forwardsSignIns === true;

  it('has exactly the functions in them that call OpenStack', () => {
    for (const name of names) {
      const { VpcConfig } = stack.functionNamed(name).properties;
      const expected = { SubnetIds: subnetIds, SecurityGroupIds: securityGroupIds };
      expect(VpcConfig, name).toEqual(reachesOpenStack(name) ? expected : undefined);
    }
  });

  const actions = [...interfaceActions].sort();

  it("lets Lambda make network interfaces, and the function's code not", () => {
    for (const name of names.filter(reachesOpenStack)) {
      const role = stack.functionNamed(name).properties.Role;
      const statements = stack
        .ofType('AWS::IAM::Policy')
        .filter(({ properties }) => properties.Roles.some((each: string) => role.endsWith(each)))
        .flatMap(({ properties }) => properties.PolicyDocument.Statement)
        .map((statement) => ({
          ...statement,
          // CDK may merge it into a statement on the same resource.
          Action: [statement.Action]
            .flat()
            .sort()
            .filter((each) => each.startsWith('ec2:')),
        }))
        .filter(({ Action }) => Action.length > 0);
      const arn = `arn:aws:lambda:us-east-1:000000000000:function:${stage}-${name}`;
      expect(statements).toEqual([
        { Effect: 'Allow', Action: actions, Resource: '*' },
        {
          Effect: 'Deny',
          Action: actions,
          Resource: '*',
          Condition: { ArnEquals: { 'lambda:SourceFunctionArn': arn } },
        },
      ]);
    }
  });

  it('is synthesised without look-ups in the account', () => {
    expect(stack.missingContext).toEqual([]);
  });
});

describe('a deployment with a domain', () => {
  const certificateArn =
    'arn:aws:acm:us-east-1:000000000000:certificate/5c1a1c1e-7a3b-4b0c-8f1e-0d7d6a1f2b3c';
  const stack = synthesize({ domainName: 'accelerator.cloud.test', certificateArn });

  it('is served there only, with its certificate', () => {
    expect(stack.ofType('AWS::ApiGatewayV2::DomainName')[0]?.properties).toMatchObject({
      DomainName: 'accelerator.cloud.test',
      DomainNameConfigurations: [
        {
          CertificateArn: certificateArn,
          EndpointType: 'REGIONAL',
          IpAddressType: 'dualstack',
        },
      ],
    });
    expect(stack.ofType('AWS::ApiGatewayV2::ApiMapping')).toHaveLength(1);
    const [api] = stack.ofType('AWS::ApiGatewayV2::Api');
    expect(api?.properties.DisableExecuteApiEndpoint).toBe(true);
  });

  it('outputs the targets of the catalog and of DNS', () => {
    expect(stack.outputs.Endpoint).toBe('https://accelerator.cloud.test/accelerator/v2');
    expect(stack.outputs.DomainTarget).toMatch(/RegionalDomainName$/);
  });
});

describe('a deployment with a truststore', () => {
  const context = {
    domainName: 'accelerator.cloud.test',
    certificateArn: 'arn:aws:acm:us-east-1:000000000000:certificate/5c1a1c1e-7a3b',
    truststoreUri: 's3://cloud-authorities/cyborg/clients.pem',
  };
  const mutualTls = (given: Readonly<Record<string, string>>) =>
    synthesize(given).ofType('AWS::ApiGatewayV2::DomainName')[0]?.properties
      .MutualTlsAuthentication;

  it('accepts clients with a certificate of its authorities', () => {
    expect(mutualTls(context)).toEqual({ TruststoreUri: context.truststoreUri });
  });

  it('may name the version of the truststore', () => {
    expect(mutualTls({ ...context, truststoreVersion: 'Yv2jT_9s.qL' })).toEqual({
      TruststoreUri: context.truststoreUri,
      TruststoreVersion: 'Yv2jT_9s.qL',
    });
  });

  it('has no name that accepts clients without a certificate', () => {
    const stack = synthesize(context);
    const [api] = stack.ofType('AWS::ApiGatewayV2::Api');
    expect(api?.properties.DisableExecuteApiEndpoint).toBe(true);
    expect(stack.ofType('AWS::ApiGatewayV2::DomainName')).toHaveLength(1);
  });

  it('asks for no certificate without a truststore', () => {
    const { truststoreUri: _, ...withoutTruststore } = context;
    expect(mutualTls(withoutTruststore)).toBeUndefined();
  });
});

it('is served at the name of API Gateway without a domain', () => {
  const stack = synthesize();
  expect(stack.ofType('AWS::ApiGatewayV2::DomainName')).toEqual([]);
  const [api] = stack.ofType('AWS::ApiGatewayV2::Api');
  expect(api?.properties.DisableExecuteApiEndpoint).toBe(false);
  expect(stack.outputs.Endpoint).toMatch(/\.ApiEndpoint\/accelerator\/v2$/);
});
