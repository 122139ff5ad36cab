import { CfnOutput } from 'aws-cdk-lib';
import { ApiMapping, DomainName, type HttpApi, type HttpStage } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { Construct } from 'constructs';

/** The deployment's own name of the API, instead of the one that AWS chooses. */
export interface Domain {
  readonly name: string;
  /** In AWS Certificate Manager, in the stack's region. */
  readonly certificateArn: string;
}

/** The name is to be pointed, by an alias or a CNAME, to what the stack prints as `DomainTarget`. */
export function serveUnder(
  scope: Construct,
  { name, certificateArn }: Domain,
  { api, stage }: { api: HttpApi; stage: HttpStage },
): void {
  const domainName = new DomainName(scope, 'Domain', {
    domainName: name,
    certificate: Certificate.fromCertificateArn(scope, 'Certificate', certificateArn),
  });
  new ApiMapping(scope, 'DomainMapping', { api, domainName, stage });
  new CfnOutput(scope, 'Target', {
    value: domainName.regionalDomainName,
    description: `What ${name} is to be an alias of, in DNS`,
  }).overrideLogicalId('DomainTarget');
}
