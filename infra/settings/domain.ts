import { CfnOutput } from 'aws-cdk-lib';
import {
  ApiMapping,
  DomainName,
  type HttpApi,
  type HttpStage,
  IpAddressType,
  type MTLSConfig,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';

/** The deployment's own domain name of the API, instead of the one that AWS assigns. */
export interface Domain {
  readonly name: string;
  /** In AWS Certificate Manager, in the stack's region. */
  readonly certificateArn: string;
  /** Mutual TLS: only clients with a certificate of these authorities can connect. */
  readonly truststore?: Truststore;
}

/** A PEM file of certificates in S3. */
interface Truststore {
  /** `s3://bucket/key` */
  readonly uri: string;
  /** Without it API Gateway reads a changed file only when the domain name changes. */
  readonly version?: string;
}

/** Create an alias or a CNAME from the name to the stack's output `DomainTarget`. */
export function serveUnder(
  scope: Construct,
  { name, certificateArn, truststore }: Domain,
  { api, stage }: { api: HttpApi; stage: HttpStage },
): void {
  const domainName = new DomainName(scope, 'Domain', {
    domainName: name,
    ipAddressType: IpAddressType.DUAL_STACK,
    certificate: Certificate.fromCertificateArn(scope, 'Certificate', certificateArn),
    ...(truststore && { mtls: trusting(scope, truststore) }),
  });
  new ApiMapping(scope, 'DomainMapping', { api, domainName, stage });
  new CfnOutput(scope, 'Target', {
    value: domainName.regionalDomainName,
    description: `Target of the DNS alias ${name}`,
  }).overrideLogicalId('DomainTarget');
}

function trusting(scope: Construct, { uri, version }: Truststore): MTLSConfig {
  const [bucketName = '', ...key] = uri.slice('s3://'.length).split('/');
  return {
    bucket: Bucket.fromBucketName(scope, 'Truststore', bucketName),
    key: key.join('/'),
    ...(version && { version }),
  };
}
