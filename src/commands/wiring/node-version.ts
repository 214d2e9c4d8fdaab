/** Imported first: a package that it needs fails on an older Node with an error that does not say why. */
const oldest = [22, 19] as const

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  throw new Error(`penstock needs Node ${oldest.join('.')} or newer, and this is ${process.versions.node}`)
}
