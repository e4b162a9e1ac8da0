"""How the browser for these tests is found, and what happens without one."""

import subprocess

import browser
import pytest


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch, tmp_path):
    """No browser anywhere, no CI, and a home without applications."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(browser, "_playwrights_own", lambda: None)


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_variable_comes_before_the_path(monkeypatch, tmp_path):
    on_path = program(tmp_path / "google-chrome")
    assert browser.find_browser() == on_path
    named = program(tmp_path / "elsewhere" / "mine")
    monkeypatch.setenv("CHROMIUM", str(named))
    assert browser.find_browser() == named


def test_a_mac_app_is_found(tmp_path):
    app = program(tmp_path / "Applications" / browser.MAC_APPS[1])
    assert browser.find_browser() == app


def test_playwrights_own_is_the_last(monkeypatch, tmp_path):
    fetched = program(tmp_path / "cache" / "chrome")
    monkeypatch.setattr(browser, "_playwrights_own", lambda: fetched)
    assert browser.find_browser() == fetched


def test_a_variable_that_names_nothing_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setenv("CHROMIUM", "/no/such/chromium")
    assert browser.main() == 1
    assert "CHROMIUM=/no/such/chromium: there is no such program; give" in capsys.readouterr().err


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_without_a_browser_only_ci_fails(monkeypatch, capsys, ci, code):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(browser, "install_browser", lambda: None)
    assert browser.main() == code
    said = capsys.readouterr()
    assert "no Chromium or Chrome was found" in (said.err if code else said.out)


def test_debians_is_installed_for_root_and_else_playwright_fetches_one(monkeypatch, tmp_path):
    ran = []

    def run(command, **_):
        ran.append(" ".join(command))
        if "chromium" in command:
            program(tmp_path / "chromium")
        return subprocess.CompletedProcess(command, 0, stdout="")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(browser, "_is_debian_root", lambda: True)
    assert browser.install_browser() == tmp_path / "chromium"
    assert [line.split()[0] for line in ran] == ["apt-get", "apt-get"]
    assert " update" in ran[0]
    ran.clear()
    monkeypatch.setattr(browser, "_is_debian_root", lambda: False)
    assert browser.install_browser() == tmp_path / "chromium"
    assert ran[0].endswith("-m playwright install chromium")


def test_where_apt_fails_playwright_is_asked(monkeypatch, capsys):
    def run(command, **_):
        code = 100 if command[0] == "apt-get" else 1
        return subprocess.CompletedProcess(command, code, stdout="first\nE: no network\n")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(browser, "_is_debian_root", lambda: True)
    assert browser.install_browser() is None
    assert "apt-get failed: E: no network" in capsys.readouterr().out
