# A draft of the formula for Homebrew. Not built yet: there is no release.
# `cargo xtask install` installs the C library under its Linux names, so only the command is here.
class Ziggurat < Formula
  desc "Algebraic multigrid for large sparse linear systems"
  homepage "RELEASE_URL"
  url "RELEASE_URL"
  sha256 "RELEASE_SHA256"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/ziggurat-cli")
    generate_completions_from_executable(bin/"ziggurat", "completions")
    (man1).mkpath
    system bin/"ziggurat", "man", man1
  end

  test do
    assert_match "converged", shell_output("#{bin}/ziggurat solve --problem poisson3d:20")
  end
end
