// Runs before `npm ci`. Plain JavaScript, since an old Node must be able to read it.

const isBrought = process.platform === 'linux' && process.arch === 'x64';
const major = Number(process.versions.node.split('.')[0]);
if (!isBrought && major < 24) {
  console.error(
    `On ${process.platform}-${process.arch} this project needs Node 24 or later on your PATH, not ${process.versions.node}: npm installs Node 24 on Linux x64 only.`,
  );
  process.exitCode = 1;
}
